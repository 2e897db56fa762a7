"""RTPrune again, from the description alone: plain loops, float64, one page at a time.

Shares no code with the library and takes plain lists or numpy arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

SOBEL_X = ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))
SOBEL_Y = ((-1, -2, -1), (0, 0, 0), (1, 2, 1))


def edge_density(view: np.ndarray, rows: int, columns: int) -> float:
    """view: [3, H, W] in -1..1; mean over patches of the share of edge pixels."""
    _, height, width = view.shape
    red, green, blue = view.astype(np.float64)
    grey = 0.299 * red + 0.587 * green + 0.114 * blue
    tall, wide = height // rows, width // columns
    shares = [
        patch_density(grey[r * tall : (r + 1) * tall, c * wide : (c + 1) * wide].tolist())
        for r in range(rows)
        for c in range(columns)
    ]
    return sum(shares) / len(shares)


def patch_density(patch: list[list[float]]) -> float:
    tall, wide = len(patch), len(patch[0])
    edges = 0
    for y in range(tall):
        for x in range(wide):
            gx = gy = 0.0
            for dy in range(3):
                for dx in range(3):
                    py, px = y + dy - 1, x + dx - 1
                    value = patch[py][px] if 0 <= py < tall and 0 <= px < wide else 0.0
                    gx += SOBEL_X[dy][dx] * value
                    gy += SOBEL_Y[dy][dx] * value
            edges += math.sqrt(gx * gx + gy * gy) > 0.2
    return edges / (tall * wide)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    length = math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))
    return float(a @ b) / length if length else 0.0


def redundancy(features: np.ndarray) -> float:
    count = len(features)
    squares = [
        cosine(features[i], features[j]) ** 2 for i in range(count) for j in range(count) if i != j
    ]
    return sum(squares) / len(squares) if squares else 0.0


def keep_ratio(redundant: float, density: float) -> float:
    return (1 - redundant) + density - (1 - redundant) * density


def fixed_keep_count(tokens: int, share: float) -> int:
    return max(math.floor(tokens * (1 - Fraction(str(share)))), 1)


def logsumexp(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def log_sinkhorn(scores: list[list[float]], temperature: float, rounds: int) -> list[list[float]]:
    """The plan with dustbins, [M + 1][P + 1], on logarithms throughout, as SuperGlue writes it."""
    kept, dropped = len(scores), len(scores[0])
    table = [[value / temperature for value in row] + [0.2 / temperature] for row in scores]
    table.append([0.2 / temperature] * (dropped + 1))
    norm = -math.log(kept + dropped)
    log_mu = [norm] * kept + [math.log(dropped) + norm]
    log_nu = [norm] * dropped + [math.log(kept) + norm]
    u, v = [0.0] * (kept + 1), [0.0] * (dropped + 1)
    for _ in range(rounds):
        for i in range(kept + 1):
            u[i] = log_mu[i] - logsumexp([table[i][j] + v[j] for j in range(dropped + 1)])
        for j in range(dropped + 1):
            v[j] = log_nu[j] - logsumexp([table[i][j] + u[i] for i in range(kept + 1)])
    return [
        [math.exp(table[i][j] + u[i] + v[j] - norm) for j in range(dropped + 1)]
        for i in range(kept + 1)
    ]


def prune(
    features: np.ndarray, count: int, *, merge: str, temperature: float, strength: float
) -> tuple[list[int], np.ndarray]:
    """Kept indices in order, and their merged features [count, D]."""
    features = features.astype(np.float64)
    norms = [math.sqrt(float(row @ row)) for row in features]
    kept = sorted(sorted(range(len(norms)), key=lambda i: (-norms[i], i))[:count])
    dropped = [i for i in range(len(norms)) if i not in set(kept)]
    merged = features[kept]
    if merge == "none" or not dropped:
        return kept, merged
    if merge == "mean":
        plan = [[1 / len(norms)] * len(dropped) for _ in kept]
    else:
        scores = [[cosine(features[i], features[j]) for j in dropped] for i in kept]
        plan = log_sinkhorn(scores, temperature, 100)
    for i in range(len(kept)):
        for j, source in enumerate(dropped):
            merged[i] = merged[i] + strength * plan[i][j] * features[source]
    return kept, merged


def surviving(tokens: list[str], dropped: set[int]) -> list[int]:
    """Indices that stay: tokens is one of "patch", "end", "separator" each, dropped are patches.

    After the patches are gone, an "end" directly behind an "end" goes too.
    """
    left = [i for i in range(len(tokens)) if i not in dropped]
    return [
        i
        for where, i in enumerate(left)
        if not (where and tokens[i] == "end" and tokens[left[where - 1]] == "end")
    ]
