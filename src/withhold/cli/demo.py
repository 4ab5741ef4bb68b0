"""`withhold demo`: the whole workflow on generated voices, from sound to report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.help import option
from withhold.cli.options import Json, Quiet, choose_progress, print_json
from withhold.core.errors import UserError

# Short enough for a few minutes on two cores. The same settings work in a YAML file.
MASS = {
    "epochs": 14,
    "attribute_model": {"epochs": 12},
    "contrastive": {"epochs": 5, "batch": 256, "draws": 1},
}


def demo(
    output: Annotated[Path, option("Folder for the results.", None, "--output", "-o")] = Path(
        "demo"
    ),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the whole workflow on generated voices.

    Suppresses the speaker with two methods, preserves the spoken digit, and attacks both releases.
    Writes the data, the bundle, the release with its certificate, and the report of the audit.
    """
    from rich.console import Console

    from withhold.actions.audit import audit as evaluate
    from withhold.actions.fit import fit_bundle
    from withhold.audit.attackers.mlp_attacker import MlpLarge
    from withhold.bundle.bundle import save_bundle
    from withhold.certificate.release_file import ReleaseCertificate, certificate_path
    from withhold.datasets.worlds import voices
    from withhold.media.extract_features import extract
    from withhold.records.readers import Samples
    from withhold.records.roles import Roles
    from withhold.records.samples import Sound
    from withhold.report import print_table, write_report

    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; -o names a folder")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"folder {output} cannot be made: {error.strerror}") from error
    started = time.monotonic()
    progress = choose_progress(quiet)
    console = Console(stderr=True, quiet=quiet)

    console.print("[bold]1[/] voices: 24 synthetic speakers say ten digits, 20 times each")
    with progress.stage("synthesising voices", None):
        made = voices(seed=0)
    sounds = [Sound(wave, made.rate) for wave in made.waveforms]
    spoken = Samples(sounds, made.attributes.drop_columns(["take"]), "sound", "voices")
    data = extract(spoken, progress=progress)
    data.write(output / "voices.parquet")

    roles = Roles.of("speaker", "digit")
    console.print("[bold]2[/] method mass, as published: suppress the speaker, preserve the digit")
    shown, released = fit_bundle(data, roles, method="mass", config=MASS, progress=progress), {}
    released["mass"] = evaluate(
        data,
        shown.release(data),
        roles.suppress,
        roles.preserve,
        hidden=(),
        attackers=(MlpLarge(epochs=12),),
        progress=progress,
    )
    released["mass"].to_json(output / "audit-mass.json")

    console.print("[bold]3[/] method codebook, with a certificate: the same roles")
    bundle = fit_bundle(data, roles, method="codebook", progress=progress)
    save_bundle(bundle, output / "bundle")
    release = bundle.release(data)
    release.write(output / "release.parquet")

    console.print("[bold]4[/] audit: every attacker, on every column and part of the release")
    certificate = ReleaseCertificate.from_json(certificate_path(output / "release.parquet"))
    released["codebook"] = evidence = evaluate(
        data,
        release,
        roles.suppress,
        roles.preserve,
        certificate=certificate,
        key=bundle.modifier.key,
        progress=progress,
    )
    evidence.to_json(output / "audit.json")
    write_report(evidence, output / "report.html", title="Synthetic voices, speaker suppressed")
    if as_json:
        print_json({method: found.to_dict() for method, found in released.items()})
        return
    print_table(released["mass"], title="mass: how often attackers are right, in %", legend=False)
    print_table(evidence, title="codebook: how often attackers are right, in %")
    typer.echo(
        f"\nOpen {output / 'report.html'} in a browser: it shows and explains the results."
        f"\nIn {output}: voices.parquet (the original), release.parquet (to share),"
        " release.certificate.json\n(what is proved about it), bundle (keep it private: it has the"
        f" key), audit.json.   ({time.monotonic() - started:.0f} s)"
    )
