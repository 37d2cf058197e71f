"""`gpuyard image`: builds what the boot server hands out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cluster_model.cli.common import cluster_argument, open_cluster
from cluster_model.cli.tree import read_boot_index

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@cluster_argument
@click.option("--only", metavar="IMAGE", multiple=True, help="Build this image alone; may be repeated.")
@click.option("--images", type=_FOLDER, default=Path("/srv/gpuyard/images"), show_default=True, help="A folder for each image.")
@click.option("--deploy", type=_FOLDER, default=Path("/srv/gpuyard/deploy"), show_default=True, help="vmlinuz and initrd.img.")
@click.option(
    "--package", "packages", multiple=True, metavar="NAME", help="Put this package into the image too; may be repeated."
)
@click.option("--kernel", default="", metavar="NAME", help="Package of the kernel; default: the distribution's own.")
@click.option("--mirror", "mirrors", multiple=True, metavar="SOURCE", help="Source of packages; default: this machine's.")
@click.option("--keyring", type=click.Path(exists=True, path_type=Path), help="Keyring that signs it; default: this machine's.")
@click.option("--tree", type=_FOLDER, help="The rendered tree; default: build/NAME.")
def command(
    cluster: Path,
    only: tuple[str, ...],
    images: Path,
    deploy: Path,
    packages: tuple[str, ...],
    kernel: str,
    mirrors: tuple[str, ...],
    keyring: Path | None,
    tree: Path | None,
) -> None:
    """Build the images of operating systems that a cluster asks for, and the RAM disk that writes them to disks.

    Needs root and mmdebstrap. Packages come from this machine's sources unless --mirror names others, as a line of sources.list
    or a URL. Images of installers (autoinstall) are not built: unpack the maker's medium.
    """
    from cluster_model.deploy.image import KERNELS, BuildError, Recipe, build_image

    opened = open_cluster(cluster)
    index = read_boot_index(opened, tree)
    wanted = {name: image for name, image in index["images"].items() if image["method"] == "image"}
    unknown = set(only) - wanted.keys()
    if unknown:
        known = ", ".join(wanted) or "none"
        raise click.BadParameter(f"no such image: {', '.join(sorted(unknown))}; there is {known}", param_hint="--only")
    chosen = [name for name in wanted if not only or name in only]
    if not chosen:
        click.echo(f"{opened.plan.name} asks for no image")
    for name in chosen:
        image = wanted[name]
        if image["distribution"] not in KERNELS:
            raise click.ClickException(f"images of {image['distribution']} are not built; of {', '.join(KERNELS)} they are")
        recipe = Recipe(name, image["distribution"], image["release"], packages, kernel, mirrors, keyring)
        try:
            path = build_image(recipe, images, deploy, lambda text, name=name: click.echo(f"{name}: {text}", err=True))  # type: ignore[misc]
        except BuildError as error:
            raise click.ClickException(f"{name}: {error}") from None
        built = json.loads(path.read_bytes())
        click.echo(f"{name}: {built['bytes'] / 1e6:,.0f} MB, kernel {built['kernel']}, sha256 {built['sha256'][:12]}…, {path}")
