"""Encode text as an attacker would: hashed n-grams and words, length, shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LONGEST = 2000  # characters of a text that are used
NGRAMS, WORDS = 192, 192


def text_parts(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Parts of texts, (n, k): counts of hashed character n-grams and words, and shape."""
    from sklearn.feature_extraction.text import HashingVectorizer

    cut = [t[:LONGEST].lower() for t in texts]
    shared = {"alternate_sign": False, "norm": None, "dtype": np.float32}
    grams = HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), n_features=NGRAMS, **shared
    ).transform(cut)
    words = HashingVectorizer(token_pattern=r"(?u)\b\w+\b", n_features=WORDS, **shared).transform(
        cut
    )
    shape = np.array(
        [
            [
                len(t),
                len(t.split()),
                sum(c.isdigit() for c in t),
                sum(c.isupper() for c in t),
                sum(not c.isalnum() for c in t),
                t != t.strip(),
            ]
            for t in (t[:LONGEST] for t in texts)
        ],
        np.float32,
    ).reshape(-1, 6)
    counts = [np.log1p(m.toarray()) for m in (grams, words)]
    return np.concatenate([*counts, shape], axis=1)
