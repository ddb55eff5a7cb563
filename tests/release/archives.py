"""Checks the source archives of a release: what has to be in them is, what must not be is not, and a checkout of them is whole."""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

CRATES = ["crates/truerank", "crates/truerank-cli", "crates/truerank-python"]
# Of each crate's archive.
NEEDED = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"]


def names(archive):
    """The paths in an archive, without the folder that all of them are in."""
    with tarfile.open(archive) as found:
        return {member.name.split("/", 1)[1] for member in found.getmembers() if member.isfile()}


def check_crates(folder):
    archives = sorted((folder / "target/package").glob("*.crate"))
    assert len(archives) == 2, f"{len(archives)} crates were packaged, but there are two"
    for archive in archives:
        missing = [name for name in NEEDED if name not in names(archive)]
        assert not missing, f"{archive.name} has no {', '.join(missing)}"
        print(f"   {archive.name}: {archive.stat().st_size / 1e6:.1f} MB")


def check_source(folder):
    [archive] = folder.glob("truerank-*.tar.gz")
    found = names(archive)
    needed = ["pyproject.toml", "Cargo.lock", "PKG-INFO", "README.md", *(f"{crate}/Cargo.toml" for crate in CRATES)]
    missing = [name for name in needed if name not in found]
    assert not missing, f"{archive.name} has no {', '.join(missing)}"
    built = [name for name in found if name.endswith((".so", ".rlib", ".parquet")) or name.startswith("target/")]
    assert not built, f"{archive.name} has {built[0]}, which does not belong to the source"
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        [root] = pathlib.Path(place).iterdir()
        # Every member of the workspace is there, and what they depend on is what the lock file says.
        subprocess.run(["cargo", "metadata", "--quiet", "--locked", "--format-version=1"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    print(f"   {archive.name}: {archive.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    check_crates(place)
    check_source(place)
    for wheel in place.glob("*.whl"):
        print(f"   {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB with the profile of the tests")
