"""Training data and losses: every label is where the ink is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pymupdf
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.bench.scoring import character_error_rate
from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.eye import STEPS_PER_CELL, places_of
from fastocr_cli.reader.modeling import ReaderForPageReading
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.training import (
    batches,
    figures,
    grounds,
    handicaps,
    loop,
    losses,
    noise,
    texts,
    typeset,
)
from fastocr_cli.reader.training.average import average
from fastocr_cli.reader.training.batches import PHASES, Phase, Sources, block_batches
from fastocr_cli.reader.training.compose import OtherScript, Piece, PieceKind
from fastocr_cli.reader.training.fonts import Face
from fastocr_cli.reader.training.found import read_page
from fastocr_cli.reader.training.loop import Plan, set_place_embeddings
from fastocr_cli.reader.training.muon import Muon, orthogonal
from fastocr_cli.reader.training.pages import Line, Page, extract_lines, join_lines, marked
from fastocr_cli.reader.training.samples import IGNORE, crop_sample, whole_sample
from fastocr_cli.reader.training.typeset import _markup, colour, piece_number, typeset_page
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL, LineKind
from tests.reader.conftest import evidence_of, tiny_config

pytestmark = pytest.mark.usefixtures("plain_texts")
Faces = tuple[Face, ...]


def some_page(faces: Faces, seed: int) -> Page:
    return typeset_page(random.Random(seed), faces, 18.5)


@pytest.mark.parametrize("seed", range(6))
def test_characters_stand_where_their_boxes_say(faces: Faces, seed: int) -> None:
    page = some_page(faces, seed)
    inked = missed = 0
    for line in page.lines:
        half = 0.5 * line.em
        for i, character in enumerate(line.text):
            if not character.isalnum():
                continue
            rows = slice(max(0, int(line.middle[i] - half)), int(line.middle[i] + half))
            patch = page.grey[rows, max(0, int(line.left[i])) : int(line.right[i]) + 1]
            inked += 1
            missed += patch.size == 0 or patch.min() > 160
    assert inked > 50
    assert missed == 0


@pytest.mark.parametrize("seed", range(6))
def test_crops_are_labelled_consistently(faces: Faces, seed: int) -> None:
    """Tokens, cells and columns of a crop tell one story."""
    rng = random.Random(seed)
    sample = crop_sample(rng, some_page(faces, seed), 192, 384, clean=1.0)
    assert sample is not None
    rows, columns = 192 // v.CELL_PX, 384 // v.CELL_PX
    assert sample.tokens[-1] == v.EOS
    assert sample.cells[-1] == IGNORE
    row = column = None
    labels = sample.columns.reshape(rows, columns, COLUMNS_PER_CELL)
    for token, cell in zip(sample.tokens[:-1].tolist(), sample.cells[:-1].tolist(), strict=True):
        at = divmod(cell, columns)
        if (new := v.row_of(token)) is not None:
            row = new - sample.origin[0]
            assert at[0] == row
        elif (new := v.column_of(token)) is not None:
            column = new - sample.origin[1]
            assert at[1] == column
        elif v.character_of(token) is not None:
            assert row is not None
            assert column is not None
            assert at[1] >= column
            assert token in labels[at]


def test_whole_page_reads_as_its_lines(faces: Faces) -> None:
    page = some_page(faces, 3)
    sample = whole_sample(random.Random(0), page, clean=1.0)
    assert sample is not None
    assert sample.origin == (0, 0)
    read = [line.text for line in v.split_lines(sample.tokens.tolist())]
    lines = [marked(line) for line in page.lines if line.is_told]
    assert read == [line.text.replace("\t", " ") for line in lines]


def test_a_word_of_another_script_is_one_mark_over_all_its_ink(
    faces: Faces, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherScript("Cyrillic", "other", 0.5)
    monkeypatch.setattr(typeset, "_other_script", lambda _: other)
    words = 0
    for seed in range(3):
        page = some_page(faces, seed)
        for line in page.lines:
            reading = marked(line)
            assert "��" not in reading.text
            assert reading.text == re.sub("�+", "�", line.text)
            assert reading.left.min() == line.left.min()
            assert reading.right.max() == line.right.max()
            for place in np.flatnonzero(np.array(list(reading.text)) == v.UNKNOWN_MARK):
                left, right = reading.left[place], reading.right[place]
                inside = (line.left >= left) & (line.right <= right)
                assert {line.text[i] for i in np.flatnonzero(inside)} == {v.UNKNOWN_MARK}
                words += 1
    assert words > 30


def test_an_empty_cell_keeps_every_character_in_its_place() -> None:
    places = [np.array([start, start + 5], np.float32) for start in (0, 50)]
    cells = [Line("ab", at, at + 4, at * 0 + 9, 10.0, LineKind.ROW, 0) for at in places]
    row = join_lines(*cells, "\t\t")
    assert row.text == "ab\t\tab"
    assert row.left.tolist() == [0, 5, 9, 9, 50, 55]
    assert row.right.tolist() == [4, 9, 50, 50, 54, 59]
    assert row.middle.tolist() == [9] * 6


def test_lines_whose_font_keeps_its_characters_are_painted_out(faces: Faces) -> None:
    page = some_page(faces, 5)
    first, *rest = page.lines
    untold = replace(page, lines=(first, *(replace(line, is_told=False) for line in rest)))
    sample = whole_sample(random.Random(0), untold, clean=1.0)
    assert sample is not None
    (line,) = v.split_lines(sample.tokens.tolist())
    assert line.text == first.text.replace("\t", " ")


def test_colours_count_pieces() -> None:
    for number in (0, 1, 15, 16, 255, 256, 4095):
        red, green, blue = (int(colour(number)[i : i + 2], 16) for i in (1, 3, 5))
        assert max(red, green, blue) < 16
        assert piece_number(red << 16 | green << 8 | blue) == number


def test_tables_are_closed_and_rows_kept() -> None:
    cells = [
        Piece(
            i + 1, PieceKind.CELL, f"c{i}", 1 + i // 4, table=1 + i // 4, row=i // 2, column=i % 2
        )
        for i in range(8)
    ]
    paragraph = Piece(9, PieceKind.PARAGRAPH, "after", 3)
    markup = "".join(_markup([*cells, paragraph]))
    assert markup.count("<table") == markup.count("</table>") == 2
    assert markup.count("<tr>") == markup.count("</tr>") == 4
    assert markup.index("</table>") < markup.rindex("<table") < markup.index("after")


def test_a_ligature_is_several_characters_side_by_side() -> None:
    """However the font tells them: most PDFs say that one glyph is the text f, f, i."""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), "oAce", fontname="helv", fontsize=20)
    to_text = document.get_new_xref()
    document.update_object(to_text, "<<>>")
    document.update_stream(
        to_text,
        b"1 begincodespacerange <00> <ff> endcodespacerange "
        b"4 beginbfchar <6f> <006f> <41> <006600660069> <63> <0063> <65> <0065> endbfchar",
    )
    document.xref_set_key(page.get_fonts()[0][0], "ToUnicode", f"{to_text} 0 R")
    ((line, _),) = extract_lines(pymupdf.open("pdf", document.tobytes())[0])
    assert line.text == "office"
    assert np.allclose(line.right[:-1], line.left[1:], atol=1e-3)
    assert np.allclose(np.diff(line.left[1:5]), 20 * 0.667 / 3, atol=0.01)  # a third of an A


def test_found_pages_join_pieces_on_a_baseline() -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 100), "left part", fontsize=11)
    page.insert_text((125, 100), "right part", fontsize=11)
    page.insert_text((72, 130), "far", fontsize=11)
    page.insert_text((300, 130), "away", fontsize=11)
    assert [line.text for line in read_page(page, 18.5).lines] == [
        *("left part right part", "far", "away"),
    ]


FAULTS = (
    *(noise.blurred, noise.resampled, noise.faded, noise.grainy, noise.speckled),
    *(noise.thresholded, noise.compressed, noise.shown_through, noise.degraded),
)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_keep_the_shape_and_some_ink(
    fault: Callable[[random.Random, noise.Grey], noise.Grey], faces: Faces
) -> None:
    grey = some_page(faces, 1).grey[:200, :300]
    for seed in range(3):
        changed = fault(random.Random(seed), grey)
        assert changed.shape == grey.shape
        assert changed.dtype == np.uint8
        assert changed.std() > 1


def test_blocks_depend_on_their_seed_alone(faces: Faces) -> None:
    sources = Sources(faces, ())
    phase = Phase(((64, 256),), 256)
    first, again, other = (
        list(block_batches(phase, sources, seed)) for seed in ("0/0/7", "0/0/7", "0/1/7")
    )
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(first, again, strict=True))
    assert all(torch.equal(a.pixels, b.pixels) for a, b in zip(first, again, strict=True))
    assert any(a.tokens.shape != b.tokens.shape for a, b in zip(first, other, strict=True)) or any(
        not torch.equal(a.tokens, b.tokens) for a, b in zip(first, other, strict=True)
    )


def test_half_of_the_pages_are_in_faces_of_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = tuple(Face(f"{name}.ttf", name, "Regular") for name in ["Nimbus Roman", *"abcdefgh"])
    seen: list[bool] = []

    def typeset_page(rng: random.Random, faces: Faces, *_: object, **__: object) -> Page:
        seen.append([face.family for face in faces] == ["Nimbus Roman"])
        raise LookupError

    monkeypatch.setattr(batches, "typeset_page", typeset_page)
    rng = random.Random(0)
    for _ in range(200):
        with pytest.raises(LookupError):
            Sources(faces, ()).page(rng)
    assert 0.4 < sum(seen) / len(seen) < 0.6


def test_the_reader_learns(faces: Faces) -> None:
    """A tiny reader drives every loss down on one batch: gradients reach all parts."""
    torch.manual_seed(0)
    losses.register_attention()
    model = ReaderForPageReading(tiny_config())
    set_place_embeddings(model.decoder.embed_tokens.weight.data)
    model.decoder.config._attn_implementation = losses.ATTENTION
    batch = next(iter(block_batches(Phase(((64, 256),), 128), Sources(faces, ()), "0")))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    history = []
    for _ in range(30):
        found = losses.joint_losses(model, batch)
        optimizer.zero_grad()
        found["total"].backward()
        optimizer.step()
        history.append({k: float(value.detach()) for k, value in found.items()})
    assert all(p.grad is not None for p in model.parameters())
    for name in ("tokens", "reading", "gaze_current", "gaze_next"):
        assert history[-1][name] < 0.9 * history[0][name], name


def test_a_batch_without_text_spoils_nothing(faces: Faces) -> None:
    """Crops of blank paper, or of marks alone: no loss of it is the mean of no numbers."""
    losses.register_attention()
    model = ReaderForPageReading(tiny_config())
    model.decoder.config._attn_implementation = losses.ATTENTION
    batch = next(iter(block_batches(Phase(((64, 256),), 128), Sources(faces, ()), "0")))
    tokens = torch.full_like(batch.tokens[:, :2], v.EOS)
    places = batch.pixels.shape[-2] * batch.pixels.shape[-1] // v.CELL_PX**2 + 2
    blank = replace(
        batch,
        tokens=tokens,
        cells=torch.full_like(tokens, IGNORE),
        columns=torch.zeros_like(batch.columns),
        edges=torch.full_like(batch.edges, IGNORE),
        starts=torch.zeros_like(batch.starts),
        position_ids=batch.position_ids[:, :places],
    )
    for found in (losses.joint_losses(model, blank), losses.tower_losses(model, blank)):
        found["total"].backward()
        assert all(bool(value.isfinite()) for value in found.values()), found
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())


def test_a_narrowed_view_shows_what_is_read(faces: Faces, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token sees the cell it is read from and all text before it, few see much else."""
    batch = next(iter(block_batches(Phase(((320, 640),), 800), Sources(faces, ()), "2")))
    cells, length = 20 * 40, batch.tokens.shape[1]
    causal = torch.ones(cells + length, cells + length, dtype=torch.bool).tril()
    for share in (0.0, 1.0):
        monkeypatch.setattr(handicaps, "NARROWED_SHARE", share)
        views = handicaps.narrowed_view(batch, cells, focal=3)
        for layer in (0, 2, 3, 5):
            view = views.of(layer)[0, 0]
            assert torch.equal(view[:cells], causal[:cells])
            assert torch.equal(view[cells:, cells:], causal[cells:, cells:])
            assert view[cells:, :cells].all() == (share == 0)
        target = batch.cells[0]
        known = torch.nonzero(target != IGNORE)[:, 0].tolist()
        for token in known:
            assert views.behind[0, 0, cells + token, target[token]]
    monkeypatch.setattr(handicaps, "_WINDOW_SIZES", ((0, 0), (0, 0)))
    monkeypatch.setattr(handicaps, "_STRAY_SHARES", (0.0,))
    monkeypatch.setattr(torch, "randint", lambda *sizes: torch.tensor(sizes[0] - (len(sizes) < 3)))
    seen = handicaps.narrowed_view(batch, cells, focal=3).before[0, 0, cells:, :cells]
    lag = handicaps._LONGEST_LAG
    for token in known[lag:]:
        wanted = [] if target[token - lag] == IGNORE else [int(target[token - lag])]
        assert seen[token].nonzero()[:, 0].tolist() == wanted
    assert views.behind[0, 0, cells:, :cells].float().mean() < 0.6


def test_guessed_kinds_are_not_learned(faces: Faces) -> None:
    """Where a kind was guessed, swapping it for another kind costs nothing."""
    batch = next(iter(block_batches(Phase(((64, 256),), 128), Sources(faces, ()), "1")))
    logits = torch.randn(*batch.tokens.shape, v.VOCABULARY_SIZE)
    swapped = batch.tokens.clone()
    is_kind = (swapped >= min(LineKind)) & (swapped <= max(LineKind))
    assert is_kind.any()
    swapped[is_kind] = LineKind.CODE
    for known in (False, True):
        told = torch.full((len(swapped),), known)
        one, other = (
            losses.token_loss(logits, replace(batch, tokens=t, is_kind_known=told))["tokens"]
            for t in (batch.tokens, swapped)
        )
        assert torch.isclose(one, other) == (not known)


def test_misreading_exchanges_characters_and_shifts_places() -> None:
    torch.manual_seed(0)
    tokens = torch.arange(v.VOCABULARY_SIZE).repeat(200, 1)
    misread = handicaps.as_misread(tokens)
    is_character = handicaps.is_character(tokens)
    special = tokens < v.FIRST_CHARACTER
    assert torch.equal(misread[special], tokens[special])
    assert handicaps.is_character(misread[is_character]).all()
    exchanged = (misread != tokens)[is_character].float().mean()
    assert 0.02 < exchanged < handicaps.MISREAD_SHARE  # only characters stand in for characters
    shift = (misread - tokens)[:, v.FIRST_COLUMN :]
    assert shift.abs().max() == 1
    assert shift.abs().float().mean() == pytest.approx(handicaps.MISPLACED_SHARE, abs=0.02)
    assert all(
        v.column_of(t) is not None for t in misread[0, v.FIRST_COLUMN : v.FIRST_ROW].tolist()
    )


def test_plan_schedule(tmp_path: Path) -> None:
    plan = Plan(tmp_path, None, (("tower", 10), ("strips", 30)), rate=1.0, anneal=0.5)
    assert [plan.phase_of(i) for i in (0, 9, 10, 39)] == ["tower", "tower", "strips", "strips"]
    assert set(PHASES) >= {"tower", "strips"}
    rates = [plan.rate_at(block, 1000) for block in range(40)]
    assert rates[:20] == [1.0] * 20
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert rates[-1] < 0.02
    assert plan.rate_at(0, 0) < 0.05


def test_a_run_goes_on_exactly_where_it_stopped(
    faces: Faces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "training_faces", lambda: faces)
    monkeypatch.setattr(loop, "new_model", lambda initial: ReaderForPageReading(tiny_config()))
    monkeypatch.setitem(PHASES, "tiny", Phase(((64, 256),), 24, is_tower_only=True))
    monkeypatch.setenv("MASTER_PORT", "29599")
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)  # of the tests

    def weights_of(plan: Plan) -> dict[str, torch.Tensor]:
        plan.out.mkdir(exist_ok=True)
        loop.run_rank(0, plan)
        return torch.load(plan.out / "checkpoint.pt")["model"]

    plan = Plan(tmp_path / "whole", None, (("tiny", 2),), ranks=1, seed=3)
    whole = weights_of(plan)
    plan = replace(plan, out=tmp_path / "parts")
    half = weights_of(replace(plan, minutes=0))
    log = plan.out / "log.jsonl"
    log.write_text('{"block": 1}\n{"block": 2}\n')  # killed after its last checkpoint
    resumed = weights_of(replace(plan, resume=True))
    assert any(not torch.equal(half[name], whole[name]) for name in whole)
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)
    assert log.read_text() == '{"block": 1}\n'


def test_the_page_bears_out_its_own_text(faces: Faces) -> None:
    """With a tower that sees all, the page is read as it was set, but for what two letters in one
    column hide."""
    for seed in range(3):
        sample = whole_sample(random.Random(0), some_page(faces, seed), clean=1.0)
        assert sample is not None
        order = ReadingOrder(evidence_of(sample.starts, sample.columns, sample.edges))
        read: list[int] = []
        while (token := int(order.bias().argmax())) != v.EOS:
            read.append(token)
            order.add(token)
        truth = v.detokenize(sample.tokens.tolist())
        assert len(truth) > 300
        assert character_error_rate(v.detokenize(read), truth) < 0.02


def test_edges_tell_doubled_letters(faces: Faces) -> None:
    sample = whole_sample(random.Random(0), some_page(faces, 0), clean=1.0)
    assert sample is not None
    begins = (sample.edges == 1).sum()
    assert begins > 0.97 * sum(v.character_of(t) is not None for t in sample.tokens.tolist())
    assert (sample.columns[sample.edges == 1] != 0).all()


def test_an_edge_between_two_of_a_kind_costs_most_to_miss(faces: Faces) -> None:
    batch = next(iter(block_batches(Phase(((64, 256),), 128), Sources(faces, ()), "2")))
    told = torch.where(batch.edges == 1, 8.0, -8.0)
    before = batch.columns.flatten(1).roll(1, 1).view_as(batch.columns)
    is_edge = batch.edges == 1
    missed = {}
    least = float(losses.edge_loss(told, batch)["edges"])
    for is_same in (True, False):
        place = (is_edge & ((batch.columns == before) == is_same)).nonzero()[0]
        logits = told.clone()
        logits[tuple(place)] = -8.0
        missed[is_same] = float(losses.edge_loss(logits, batch)["edges"]) - least
    assert missed[True] == pytest.approx(missed[False] / losses.DIFFERENT_WEIGHT, rel=0.05)


def test_some_passages_to_learn_from_repeat_letters_at_random() -> None:
    told = "it is told as it stands"
    stuttered = texts._stuttered(random.Random(2), told * 20)
    assert len(told * 20) < len(stuttered) < 1.15 * len(told * 20)
    assert re.sub(r"(.)\1+", r"\1", stuttered) == told * 20
    assert re.search(r"(.)\1\1", stuttered)


def test_code_to_learn_from_is_some_of_a_program() -> None:
    lines = texts.program(random.Random(5), 8).split("\n")
    assert 1 < len(lines) <= 8
    assert max(map(len, lines)) <= 50
    assert any(not line.startswith(" ") for line in lines)
    assert texts.program(random.Random(5), 8).split("\n") == lines


def test_some_passages_to_learn_from_are_in_other_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(texts, "paragraphs", lambda held_out: ("a page in English",))
    monkeypatch.setattr(texts, "paragraphs_abroad", lambda: ("une page en français",))
    rng = random.Random(1)
    held_out = {texts.passage(rng, 10, held_out=True)[:4] for _ in range(40)}
    assert held_out == {"a pa"}
    learnt = [texts.passage(rng, 10, held_out=False) for _ in range(200)]
    assert 0.1 < sum("n" in text[1:3] for text in learnt) / len(learnt) < 0.3
    monkeypatch.setattr(texts, "paragraphs_abroad", tuple)
    assert texts.passage(rng, 10, held_out=False)


def test_the_eye_knows_about_where_it_is(faces: Faces) -> None:
    sample = whole_sample(random.Random(0), some_page(faces, 3), clean=1.0)
    assert sample is not None
    tokens, cells = sample.tokens[:-1].tolist(), sample.cells[:-1]
    width = sample.grey.shape[1] // v.CELL_PX
    places = places_of(tokens)
    off = [
        abs(place[1] / STEPS_PER_CELL - cell % width)
        for token, place, cell in zip(tokens[1:], places[:-1], cells[1:], strict=True)
        if v.character_of(token) is not None
    ]
    assert np.mean(np.array(off) <= 1.5) > 0.97


def test_orthogonal_keeps_directions_and_evens_out_their_sizes() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(24, 64) @ torch.diag(torch.logspace(0, -2, 64))
    even = orthogonal(matrix)
    sizes = torch.linalg.svdvals(even)
    assert sizes.min() > 0.3
    assert sizes.max() < 1.3
    assert torch.allclose(even.T, orthogonal(matrix.T), atol=1e-4)
    u, _, v_t = torch.linalg.svd(matrix, full_matrices=False)
    assert torch.diagonal(u.T @ even @ v_t.T).min() > 0.3


def test_muon_descends() -> None:
    torch.manual_seed(0)
    weight, goal = torch.nn.Parameter(torch.zeros(8, 12)), torch.randn(8, 12)
    optimizer = Muon([weight], lr=0.05, weight_decay=0.0)
    first = float((weight - goal).detach().square().mean())
    for _ in range(150):
        optimizer.zero_grad()
        loss = (weight - goal).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.2 * first


@given(st.integers(0, 1 << 30), st.sampled_from([(64, 768), (256, 256), (512, 128), (96, 512)]))
def test_figures_stand_on_the_crop(seed: int, size: tuple[int, int]) -> None:
    rng = random.Random(seed)
    figure = figures.place(rng, *size)
    assert 0 <= figure.top < figure.bottom <= size[0]
    assert 0 <= figure.left < figure.right <= size[1]
    grey = np.full(size, 255, np.uint8)
    figure.paint(rng, grey)
    grey[figure.top : figure.bottom, figure.left : figure.right] = 255
    assert (grey == 255).all()


def test_a_figure_leaves_room_beside_it() -> None:
    places = (np.array([value], np.float32) for value in (10, 15, 50))
    line = Line("x", *places, 18.0, LineKind.LINE, 0)
    assert figures.Figure(0, 40, 0, 60).room_beside(line, 200) == (60 + figures.GAP_PX, 200)
    assert figures.Figure(0, 40, 120, 200).room_beside(line, 200) == (0, 120 - figures.GAP_PX)
    assert figures.Figure(0, 40, 0, 200).room_beside(line, 200) == (0, 0)
    assert figures.Figure(80, 90, 0, 200).room_beside(line, 200) == (0, 200)


@given(st.integers(0, 1 << 30))
def test_tinted_print_stands_out_from_its_ground(seed: int) -> None:
    places = (np.array([value], np.float32) for value in (100, 200, 50))
    line = Line("x", *places, 20.0, LineKind.LINE, 0)
    page = np.full((100, 300), 255, np.uint8)
    page[45:55, 100:200] = 0
    tinted = page.copy()
    grounds.tint(random.Random(seed), tinted, [line])
    ink, ground = int(tinted[50, 150]), int(tinted[41, 150])
    assert abs(ink - ground) >= grounds.LEAST_CONTRAST
    assert (tinted[45:55, 100:200] == ink).all()
    assert (tinted[41:45, 100:200] == ground).all()
    assert (tinted[:35] == 255).all()
    assert (tinted[65:] == 255).all()


def test_an_average_is_between_and_what_is_shared_is_averaged_once(tmp_path: Path) -> None:
    models = [ReaderForPageReading(tiny_config()) for _ in range(2)]
    for name, model in zip(("a", "b"), models, strict=True):
        model.save_pretrained(tmp_path / name)
    average(tmp_path / "a", tmp_path / "b", tmp_path / "c", share=0.25)
    mean = ReaderForPageReading.from_pretrained(tmp_path / "c").state_dict()
    ours, theirs = (model.state_dict() for model in models)
    for name, weights in mean.items():
        assert torch.allclose(weights, 0.75 * ours[name] + 0.25 * theirs[name], atol=1e-6), name
