"""The policy for a release of media: which labels leave with them."""

from __future__ import annotations

from withhold.bundle.media import MediaBundle
from withhold.core.errors import UserError
from withhold.core.keyed import other_key
from withhold.records.columns.measure import MOST
from withhold.records.readers.collection import Collection
from withhold.records.readers.media_table import PATHS
from withhold.release.policy import Decision, Subject, decide
from withhold.release.survey import survey
from withhold.release.wishes import Wishes


def decide_media(
    bundle: MediaBundle, collection: Collection, wishes: Wishes, *, keep_names: bool = False
) -> Decision:
    """Decide for every label column of a collection; the media themselves are what is made.

    A column that the bundle suppresses must be there under its name, or it might go out under
    another one. Columns of names of files leave with `keep_names`.
    """
    schema = collection.schema
    for name in bundle.roles.suppress:
        if name in bundle.input["columns"] and name not in schema.names:
            raise UserError(
                f"{collection.name} has no column '{name}', which the bundle suppresses, so it may"
                " go out under another name; give the labels as in the fit (--pattern, --column)"
            )
    table = collection.labels()
    if table is None:
        return Decision(())
    if keep_names:
        names = [n for n in schema.names if n.lower() in PATHS and n not in wishes.drop]
        wishes = Wishes((*wishes.keep, *names), wishes.drop, wishes.keep_labels, wishes.same_order)
    key = other_key(bundle.modifier.key, "labels of media")
    step = MOST
    pieces = (table.slice(at, step) for at in range(0, len(table), step))
    found = survey(((None, piece) for piece in pieces), key)
    subject = Subject(
        collection.name,
        table.schema,
        (),
        found.table,
        bundle.roles.suppress,
        preserve=bundle.roles.preserve,
        harmless=bundle.input.get("harmless", {}),
        tells=bundle.input.get("tells", {}),
        key=bundle.modifier.key,
    )
    return decide(subject, wishes)
