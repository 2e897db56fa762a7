"""The bench compares things that compute the same, and its figures are what they say."""

from __future__ import annotations

import json

import pytest
import torch

from fastocr_kernels.bench.cases import Case, make_data
from fastocr_kernels.bench.contestants import Arena, Contestant
from fastocr_kernels.bench.report import document, machine, rows_of, table
from fastocr_kernels.bench.timing import Samples, measure

CPU = torch.device("cpu")
CASE = Case(4, 2, 16, torch.float32, 400, 50, 2, keep=0.1, layers=4, focal=2)


@pytest.fixture(scope="module")
def arena():
    return Arena(CASE, make_data(CASE, CPU))


def test_dense_ways_agree(arena):
    dense = arena.dense_sdpa(3).reshape(arena.data.query.shape)
    torch.testing.assert_close(arena.dense_own(3), dense)
    torch.testing.assert_close(arena.focal(3)[0], dense)


def test_sparse_ways_agree(arena):
    gathered = arena.gather_sdpa(2).reshape(arena.data.query.shape)
    torch.testing.assert_close(arena.sparse(2), gathered)


def test_caches_rotate_through_more_than_a_processor_holds(arena):
    assert CASE.pool * CASE.layer_bytes > 128 * 2**20
    assert arena.caches(0)[0] is not arena.caches(1)[0]


def test_a_step_visits_every_layer_once(arena, monkeypatch):
    visited = []
    monkeypatch.setattr(Arena, "focal", lambda self, turn: visited.append(turn) or (0, self.scores))
    monkeypatch.setattr(Arena, "sparse", lambda self, turn, attended: visited.append(turn))
    arena.step_focal(2)
    assert visited == [8, 9, 10, 11]


def test_figures_follow_from_the_samples():
    dense = Contestant("dense sdpa", 1, 4_000_000, print)
    sparse = Contestant("sparse", 1, 1_000_000, print)
    samples = [Samples(dense, [400.0, 800.0, 600.0]), Samples(sparse, [100.0, 100.0, 200.0])]
    rows = rows_of(CASE, samples, bandwidth=20e9)
    assert rows[0].ratio == 1
    assert (rows[1].microseconds, rows[1].ratio) == (100, 4)
    assert (rows[1].ratio_low, rows[1].ratio_high) == (3, 8)
    assert rows[1].floor == pytest.approx(0.5)


def test_a_whole_run_makes_a_table_and_json(arena):
    samples = measure(arena.contestants(), CPU, rounds=1, turns=4)
    rows = rows_of(CASE, samples, bandwidth=1e10)
    assert table(rows).count("\n") == len(rows) == 10
    assert all(len(line) <= 80 for line in table(rows).splitlines())
    written = json.loads(json.dumps(document(machine(CPU, 1e10), rows, [CASE])))
    assert written["rows"][3]["name"] == "sparse"
    assert written["skipped"] == [str(CASE)]
