"""Our own networks: who is trained on which pictures, and that a stopped run goes on."""

import gzip
import io
import json
import tarfile
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pooch")
Image = pytest.importorskip("PIL.Image")

from experiments.neural._networks import read_network  # noqa: E402
from experiments.neural.training import _make, _pixels  # noqa: E402
from experiments.neural.training._losses import focal_loss, loss_of_batch  # noqa: E402
from experiments.neural.training._make import make_networks  # noqa: E402
from experiments.neural.training._models import convnet, lenet5, mlp, resnet8  # noqa: E402
from experiments.neural.training._parts import (  # noqa: E402
    few_of_training,
    half_of_test,
    resplit,
    tenth_of_training,
)
from experiments.neural.training._pixels import Pictures, load_pictures  # noqa: E402
from experiments.neural.training._recipes import RECIPES  # noqa: E402
from experiments.neural.training._train import save_logits, train  # noqa: E402
from experiments.study._networks import BASES, OPTIONS, attributes_of  # noqa: E402
from experiments.study._recipes import TRAININGS  # noqa: E402
from numpy.testing import assert_allclose, assert_array_equal  # noqa: E402
from rich.console import Console  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402


def tar_of(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def idx(pixels, labels):
    return bytes(16) + pixels.tobytes(), bytes(8) + labels.tobytes()


@pytest.fixture
def small():
    """Two pictures to train on and one to test on, 28 by 28."""
    pixels = np.random.default_rng(0).integers(0, 256, (3, 28, 28)).astype(np.uint8)
    return pixels, np.array([5, 0, 7], dtype=np.uint8)


class TestPixels:
    def test_mnist(self, small, tmp_path):
        pixels, labels = small
        files = {}
        for part, rows in (("train", slice(2)), ("t10k", slice(2, 3))):
            images, names = idx(pixels[rows], labels[rows])
            files[f"package/data/{part}-images-idx3-ubyte"] = images
            files[f"package/data/{part}-labels-idx1-ubyte"] = names
        (tmp_path / "a.tgz").write_bytes(tar_of(files))
        found = _pixels._mnist(tmp_path / "a.tgz")
        assert_array_equal(found.pixels[:, 0], pixels)
        assert_array_equal(found.labels, labels)
        assert found.n_test == 1

    def test_fashion_is_an_archive_in_an_archive(self, small, tmp_path):
        pixels, labels = small
        folder = "./usr/share/datasets/fashion-mnist"
        files = {}
        for part, rows in (("train", slice(2)), ("t10k", slice(2, 3))):
            for kind, data in zip(
                ("images-idx3", "labels-idx1"), idx(pixels[rows], labels[rows]), strict=True
            ):
                files[f"{folder}/{part}-{kind}-ubyte.gz"] = gzip.compress(data)
        members = {"debian-binary": b"2.0", "control.tar.xz": b"odd", "data.tar.gz": tar_of(files)}
        ar = b"!<arch>\n"
        for name, data in members.items():
            ar += f"{name:<48}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        (tmp_path / "a.deb").write_bytes(ar)
        found = _pixels._fashion(tmp_path / "a.deb")
        assert_array_equal(found.pixels[:, 0], pixels)
        assert_array_equal(found.labels, labels)

    def test_row_i_of_a_png_is_picture_i(self, tmp_path):
        rng = np.random.default_rng(0)
        batches = rng.integers(0, 256, (6, 2, 32, 32, 3)).astype(np.uint8)
        names = [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]
        files = {}
        for name, batch in zip(names, batches, strict=True):
            content = io.BytesIO()
            Image.fromarray(batch.reshape(2, 1024, 3)).save(content, "PNG")
            files[f"package/{name}"] = content.getvalue()
        files["package/train_lables.json"] = json.dumps(list(range(10))).encode()
        files["package/test_lables.json"] = b"[3, 8]"
        (tmp_path / "a.tgz").write_bytes(tar_of(files))
        found = _pixels._cifar10(tmp_path / "a.tgz")
        assert_array_equal(found.pixels[3], batches[1, 1].transpose(2, 0, 1))
        assert_array_equal(found.labels, [*range(10), 3, 8])
        assert found.n_test == 2

    def test_archives_are_fetched_with_their_hash(self, monkeypatch, tmp_path):
        asked = {}

        def retrieve(url, known_hash, **options):
            asked.update(url=url, known_hash=known_hash, **options)
            raise ValueError("hash of downloaded file does not match")

        monkeypatch.setattr(_pixels.pooch, "retrieve", retrieve)
        with pytest.raises(ValueError, match="does not match"):
            load_pictures("cifar10", tmp_path)
        assert asked["known_hash"].startswith("sha256:141f061f")
        assert asked["path"] == tmp_path


class TestParts:
    def test_cifar_is_divided_as_in_the_paper(self):
        divided = tenth_of_training(60_000, 10_000)
        trains, fits = train_test_split(np.arange(50_000), test_size=0.1, random_state=333)
        assert_array_equal(divided.fits, fits)
        assert_array_equal(divided.trains, trains)
        assert_array_equal(divided.tests, np.arange(50_000, 60_000))

    def test_mnist_is_left_undivided(self):
        divided = half_of_test(70_000, 10_000)
        assert divided.fits is None
        assert len(divided.trains) == 60_000

    def test_replications_throw_all_pictures_together(self):
        first, second = (resplit(60_000, 10_000, seed=seed) for seed in (13, 45))
        for divided in (first, second):
            parts = (divided.trains, divided.fits, divided.tests)
            assert [len(rows) for rows in parts] == [45_000, 5_000, 10_000]
            assert_array_equal(np.sort(np.concatenate(parts)), np.arange(60_000))
        assert not np.array_equal(first.tests, second.tests)

    def test_few_pictures_train(self):
        divided = few_of_training(700, 100, n_trains=200, n_fits=50)
        assert [len(rows) for rows in (divided.trains, divided.fits)] == [200, 50]
        assert len(set(divided.trains) | set(divided.fits)) == 250
        assert max(*divided.trains, *divided.fits) < 600
        assert_array_equal(divided.tests, np.arange(600, 700))


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (partial(lenet5, normalised=False), (3, 32, 32)),
        (partial(lenet5, normalised=True), (3, 32, 32)),
        (resnet8, (3, 32, 32)),
        (mlp, (1, 28, 28)),
        (convnet, (1, 28, 28)),
    ],
)
def test_networks_give_ten_logits(model, shape):
    assert model()(torch.zeros(2, *shape)).shape == (2, 10)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 400)
    pixels = rng.integers(0, 60, (400, 3, 32, 32)) + 19 * labels[:, None, None, None]
    return Pictures(pixels.astype(np.uint8), labels, 100)


class Seeds:
    """Notes the seeds that are asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, seed):
        self.asked.append(seed)


class TestTraining:
    recipe = replace(RECIPES["c10_lenet5_seed13"], epochs=3)

    def test_it_learns_and_writes_both_formats(self, pictures, tmp_path):
        divided = self.recipe.parts(400, 100)
        losses = []
        model = train(
            self.recipe, pictures, divided, tmp_path / "c.pt", lambda e: losses.append(e.loss)
        )
        assert losses[-1] < losses[0]
        npz, pickled = tmp_path / "made.npz", tmp_path / "probs_made_logits.p"
        error = save_logits(model, pictures, divided, npz, pickled)
        one, other = read_network(npz), read_network(pickled)
        assert not one.divided_here
        assert_array_equal(one.fit.logits, other.fit.logits)
        assert_array_equal(one.test.y, other.test.y)
        assert_array_equal(one.test.y, pictures.labels[divided.tests])
        assert error == (one.test.logits.argmax(axis=1) != one.test.y).mean()

    def test_a_stopped_run_arrives_at_the_same_network(self, pictures, tmp_path):
        divided = self.recipe.parts(400, 100)

        class StoppedError(Exception):
            pass

        def stop(epoch):
            if epoch.number == 2:
                raise StoppedError

        whole = train(self.recipe, pictures, divided, tmp_path / "whole.pt", lambda e: None)
        with pytest.raises(StoppedError):
            train(self.recipe, pictures, divided, tmp_path / "parts.pt", stop)
        told = []
        again = train(self.recipe, pictures, divided, tmp_path / "parts.pt", told.append)
        assert [epoch.number for epoch in told] == [3]
        for name, value in whole.state_dict().items():
            assert torch.equal(value, again.state_dict()[name]), name

    def first_weights(self, pictures, path, **options):
        recipe = replace(self.recipe, epochs=1, **options)
        model = train(recipe, pictures, recipe.parts(400, 100), path, lambda epoch: None)
        return next(model.parameters()).detach()

    def test_the_seed_makes_other_first_weights(self, pictures, tmp_path):
        """So slowly that they stay what they were."""
        still = {"learning_rate": 1e-12, "decay": 0.0}
        one, same, other = (
            self.first_weights(pictures, tmp_path / f"{i}.pt", seed=seed, **still)
            for i, seed in enumerate((0, 0, 1))
        )
        assert torch.equal(one, same)
        assert not torch.allclose(one, other, atol=1e-3)

    def test_the_seed_makes_another_order_of_pictures(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr(torch, "manual_seed", seen := Seeds())
        self.first_weights(pictures, tmp_path / "0.pt")
        self.first_weights(pictures, tmp_path / "1.pt", seed=1)
        assert seen.asked == [0, 1000, 1, 2000]

    def test_decay_makes_weights_smaller(self, pictures, tmp_path):
        small, large = (
            self.first_weights(pictures, tmp_path / f"{decay}.pt", decay=decay).norm()
            for decay in (0.5, 0.0)
        )
        assert small < 0.9 * large

    def test_what_is_there_is_not_made_again(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr(_make, "load_pictures", lambda name, folder: pictures)
        recipes = {"small": replace(self.recipe, epochs=1)}
        told = Console(record=True, width=200, quiet=False)
        for _ in range(2):
            make_networks(
                recipes,
                recipes,
                cache=tmp_path,
                networks=tmp_path / "networks",
                console=told,
                precision=np.float16,
            )
        text = told.export_text()
        assert text.count("test error") == 1
        assert "small: there already" in text
        with np.load(tmp_path / "networks" / "small.npz") as stored:
            assert stored["test_logits"].dtype == np.float16


class TestLosses:
    recipe = RECIPES["fashion_convnet"]
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]])
    y = torch.tensor([0, 2])

    def test_focal_loss_is_its_formula(self):
        p = torch.softmax(self.logits, dim=1).numpy()[[0, 1], [0, 2]]
        found = float(focal_loss(self.logits, self.y, 3.0))
        assert found == pytest.approx(float(np.mean(-((1 - p) ** 3) * np.log(p))), rel=1e-5)

    def test_without_an_exponent_it_is_cross_entropy(self):
        plain = float(torch.nn.functional.cross_entropy(self.logits, self.y))
        assert float(focal_loss(self.logits, self.y, 0.0)) == pytest.approx(plain, rel=1e-6)
        assert float(loss_of_batch(self.recipe, torch.nn.Identity(), self.logits, self.y)) == plain

    def test_smoothed_labels_share_with_all_classes(self):
        logs = torch.log_softmax(self.logits, dim=1).numpy()
        targets = np.full((2, 3), 0.1 / 3)
        targets[[0, 1], [0, 2]] += 0.9
        recipe = replace(self.recipe, smoothing=0.1)
        found = float(loss_of_batch(recipe, torch.nn.Identity(), self.logits, self.y))
        assert found == pytest.approx(float(-(targets * logs).sum(axis=1).mean()), rel=1e-5)

    def test_mixed_pictures_have_mixed_labels(self):
        """A model that gives back what it sees shows the share and the partners."""
        seen = []

        def model(x):
            seen.append(x)
            return x

        torch.manual_seed(0)
        found = float(loss_of_batch(replace(self.recipe, mixup=1.0), model, self.logits, self.y))
        torch.manual_seed(0)
        share = torch.distributions.Beta(1.0, 1.0).sample()
        other = torch.randperm(2)
        mixed = share * self.logits + (1 - share) * self.logits[other]
        assert_allclose(seen[0], mixed)
        losses = -torch.log_softmax(mixed, dim=1)
        rows = torch.arange(2)
        expected = share * losses[rows, self.y] + (1 - share) * losses[rows, self.y[other]]
        assert found == pytest.approx(float(expected.mean()), rel=1e-5)


class TestStudy:
    def test_attributes_are_those_of_the_recipes(self):
        assert len(TRAININGS) <= 20
        for name, recipe in TRAININGS.items():
            about = attributes_of(name)
            assert about.epochs == str(recipe.epochs), name
            assert ("mixed" in about.augmentation) == (recipe.mixup > 0), name
            assert ("mirrored" in about.augmentation) == recipe.moved, name
            assert about.loss.startswith("focal" if recipe.focal else "cross entropy"), name
            assert ("smoothed" in about.loss) == (recipe.smoothing > 0), name

    @pytest.mark.parametrize("base", BASES)
    def test_one_option_is_changed_at_a_time(self, base):
        plain = TRAININGS[f"{base}_plain"]
        for option in OPTIONS:
            own = TRAININGS.get(f"{base}_{option}", plain)
            changed = [
                field.name
                for field in fields(own)
                if getattr(own, field.name) != getattr(plain, field.name)
            ]
            assert len(changed) == (own is not plain), option
