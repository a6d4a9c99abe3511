"""Files of weights: what is saved comes back, what does not fit is refused, what ships says what it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from penumbra.network import loading, weights
from penumbra.network.model import from_weights
from penumbra.network.onnx_graph import build
from penumbra.network.weights import FULL, LITE, Weights, WeightsError
from penumbra.rbc.synopsis import Synopsis
from tests.support.full_disk import full_disk
from tests.support.small_networks import some_weights


def test_weights_come_back_as_they_went(tmp_path: Path) -> None:
    given = some_weights()
    weights.save(given, tmp_path / "w.safetensors")
    back = weights.load(tmp_path / "w.safetensors")
    assert back.architecture == given.architecture and back.about["games"] == "none"
    for name, tensor in given.tensors.items():
        assert np.abs(back.tensors[name] - tensor).max() < 1e-3
    assert back.has_auxiliary_heads
    lean = weights.for_play(back)
    assert not lean.has_auxiliary_heads
    weights.save(lean, tmp_path / "lean.safetensors")
    assert (tmp_path / "lean.safetensors").stat().st_size < (tmp_path / "w.safetensors").stat().st_size
    network = from_weights(weights.load(tmp_path / "lean.safetensors"))
    x = torch.zeros(1, 104, 8, 8)
    assert torch.allclose(
        network.headset("Top").policy_logits(network.tower(x)),
        from_weights(back).headset("Top").policy_logits(from_weights(back).tower(x)),
    )


def test_a_full_disk_leaves_the_weights_before(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"before")
    with full_disk(), pytest.raises(WeightsError, match=r"w.safetensors: could not be written \(.*; what was there"):
        weights.save(some_weights(), path)
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    given = some_weights()
    weights.save(given, path)
    whole = path.read_bytes()
    for damaged, message in (
        (whole[: len(whole) // 2], "cannot be read as weights"),
        (b"not weights at all", "cannot be read as weights"),
        (whole.replace(b"penumbra-1", b"penumbra-9"), "not weights of this version"),
        (whole.replace(b'\\"n_width\\": 12', b'\\"n_width\\": 13'), "does not fit its own header"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError) as error:
            weights.load(path)
        assert message in str(error.value) and str(path) in str(error.value)
    spoilt = some_weights()
    for bad in (float("nan"), 1e5):  # which is infinite in half precision
        spoilt.tensors["tower.0.first.weight"].flat[5] = bad
        path.unlink(missing_ok=True)
        with pytest.raises(WeightsError, match=r"tower.0.first.weight holds numbers that are not finite"):
            weights.save(spoilt, path)
        assert not path.exists()
    some = given.tensors["headsets.Top.policy.bias"][:4].astype(np.float16).tobytes()
    assert whole.count(some) == 1
    path.write_bytes(whole.replace(some, np.full(4, np.inf, np.float16).tobytes()))
    with pytest.raises(WeightsError, match=r"headsets.Top.policy.bias holds numbers that are not finite"):
        weights.load(path)
    with pytest.raises(WeightsError, match="no weights"):
        loading.network_evaluator(str(tmp_path / "none"), "cpu", "Top")
    with pytest.raises(WeightsError, match="no headset 'Human'"):
        build(given, "Human", "All")
    if not torch.cuda.is_available():
        with pytest.raises(WeightsError, match="no CUDA device"):
            loading.network_evaluator(None, "cuda", "Top")


@pytest.mark.parametrize("synopsis", get_args(Synopsis))
def test_the_sort_of_synopsis_comes_back(tmp_path: Path, synopsis: Synopsis) -> None:
    path = tmp_path / "w.safetensors"
    given = some_weights(synopsis=synopsis)
    weights.save(given, path)
    assert weights.load(path).architecture == given.architecture
    whole = path.read_bytes()
    for wrong in set(get_args(Synopsis)) - {synopsis}:
        tensors = dict(given.tensors)
        weights.save(Weights(replace(given.architecture, synopsis=wrong), tensors, {}), path)
        with pytest.raises(WeightsError, match=r"does not fit its own header: tower\.0\.first\.weight is"):
            weights.load(path)
    path.write_bytes(whole.replace(f'"{synopsis}"'.encode(), f'"{synopsis[::-1]}"'.encode()))
    with pytest.raises(WeightsError, match=f"not weights of this version .* of a {synopsis[::-1]} synopsis"):
        weights.load(path)


def test_weights_that_do_not_name_a_synopsis_read_binary_ones(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    given = some_weights()
    header = {"format": weights.FORMAT, "planes": "104", "headsets": json.dumps(given.architecture.headsets)}
    header["architecture"] = json.dumps({"n_width": 12, "n_depth": 2})
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in given.tensors.items()}, path, header)
    assert weights.load(path).architecture == given.architecture


def test_shipped_weights_say_what_they_are() -> None:
    for path, size in ((LITE, 10_000_000), (FULL, 30_000_000)):
        given = weights.load(path)
        assert path.stat().st_size < size
        assert {"All", "Top", "Trout", "Attacker", "Random"} <= set(given.architecture.headsets)
        assert int(given.about["games"]) >= 20_000
        assert set(json.loads(given.about["players"])) == set(given.architecture.headsets)
        assert 0 < float(given.about["share of the paper's examples"]) <= 1
    assert "Penumbra" in weights.load(LITE).architecture.headsets
    assert weights.load(FULL).architecture.n_width == 128 and weights.load(FULL).architecture.n_depth == 10


def test_every_tensor_of_a_file_is_checked_those_of_unused_headsets_too(tmp_path: Path) -> None:
    """A tensor left out, one of another shape, one that is no number anywhere, and one too many."""
    path = tmp_path / "w.safetensors"
    given = some_weights()
    assert set(weights.shapes_of(given.architecture, auxiliary=True)) == set(given.tensors)
    lean = weights.for_play(given)
    assert set(weights.shapes_of(given.architecture, auxiliary=False)) == set(lean.tensors)
    for whole in (given, lean):
        for name in (list(whole.tensors)[-1], "tower.1.second_norm.bias", "headsets.Trout.policy_block.first.weight"):
            weights.save(Weights(whole.architecture, {k: t for k, t in whole.tensors.items() if k != name}, {}), path)
            with pytest.raises(WeightsError, match=f"does not fit its own header: {name} is missing"):
                weights.load(path)
    name = "headsets.Trout.value.hidden.weight"
    longer = np.concatenate([lean.tensors[name], lean.tensors[name][:1]])
    below_zero = -np.abs(lean.tensors["tower.1.first_norm.running_var"]) - 1
    for tensors, message in (
        ({name: longer}, rf"{name} is \[257, 512\], not \[256, 512\]"),
        ({name: lean.tensors[name].astype(np.int32)}, f"{name} holds numbers of another sort, int32"),
        ({"tower.1.first_norm.running_var": below_zero}, "is a variance and holds numbers below zero"),
        ({"headsets.Fish.policy.bias": longer[0]}, r"there is no headsets.Fish.policy.bias in such a network"),
    ):
        weights.save(Weights(lean.architecture, {**lean.tensors, **tensors}, {}), path)
        with pytest.raises(WeightsError, match=message):
            weights.load(path)


def test_a_file_of_weights_that_was_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    weights.save(some_weights(), path)
    whole = path.read_bytes()
    for kept in (0, 4, 8, 100, len(whole) // 10, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(WeightsError, match=r"w.safetensors: cannot be read as weights"):
            weights.load(path)
