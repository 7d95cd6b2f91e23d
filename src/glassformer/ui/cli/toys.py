"""Commands that make small models on purpose, to see how they hold what they know: facts, and features."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.atomic import write_atomically
from glassformer.messages import Message
from glassformer.ui.cli.terminal import AsJson, app, note, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from glassformer.documents.inside.facts import FactStudy, Stored


@app.command()
def facts(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the model and the figure are kept.")
    ] = Path("facts"),
    planted: Annotated[
        str | None, typer.Option(help="Build the model instead, with all facts at the subject or at the relation.")
    ] = None,
    subjects: Annotated[int, typer.Option(min=2, help="Subjects of the world; each has four facts.")] = 250,
    edits: Annotated[int, typer.Option(min=1, help="Facts that are changed, one at a time, at every place.")] = 40,
    capacity: Annotated[
        bool, typer.Option("--capacity", help="Also: bits for each parameter of small models.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the world and of training.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn a small world by heart ("Michael Jordan plays" …); where is a fact, and where can it be changed?

    The model is kept: glassformer step DIR/model "start Michael Jordan plays" follows it.
    """
    from glassformer.compiler.constructions.planted import planted as plant
    from glassformer.documents.inside import facts as looking
    from glassformer.nn import files
    from glassformer.opening.loading import NAMES, SENTENCES
    from glassformer.training.facts import learn, make_world

    world = make_world(subjects, seed)
    if planted:
        model = plant(world, planted)
    else:
        with progress_bar("cli.learning") as advance:
            model = learn(world, seed=seed, progress=advance)
    known = {NAMES: world.names, SENTENCES: [" ".join(("start", world.prompt(fact))) for fact in range(world.count)]}
    files.save(folder / "model", model, {name: files.to_json(list(texts)) for name, texts in known.items()})
    with progress_bar("cli.tracing_and_editing") as advance:
        found = looking.study(model, world, edits, seed=seed, progress=advance)
    stored = looking.capacity(world, seed=seed) if capacity else []
    write_atomically(folder / "facts.svg", traced_map(found).encode())
    if as_json:
        held = [{**vars(each), "bits_per_parameter": each.bits_per_parameter} for each in stored]
        return print_json({**vars(found), "capacity": held})
    print_places(found)
    if stored:
        print_capacity(stored, world.bits)
    note("cli.wrote_both", one=folder / "model", other=folder / "facts.svg")
    return None


def traced_map(found: FactStudy) -> str:
    """What tracing sees, as a heat map."""
    from glassformer.documents.inside.facts import POSITIONS
    from glassformer.ui.drawing.heatmap import draw_heatmap

    layers = sorted({place.layer for place in found.places})
    traced = [[place.traced for place in found.places if place.layer == layer] for layer in layers]
    rows = [str(Message("labels.layer_mlp", layer=i)) for i in layers]
    positions = [str(title) for title in POSITIONS.values()]
    return draw_heatmap(traced, rows, positions, str(Message("cli.facts_map")), full=1.0)


def print_places(found: FactStudy) -> None:
    """Tracing and editing side by side, and who makes the answers."""
    from glassformer.documents.inside.facts import POSITIONS

    columns = ("layer", "mlp_at", "traced", "edit_works", "others_kept", "same_subject_kept")
    tried = [(each.efficacy, each.others_kept, each.same_subject_kept) for each in found.places]
    rows = (
        (
            each.layer,
            POSITIONS[each.position],
            f"{round(each.traced, 3) + 0.0:.3f}",
            *("" if v is None else f"{v:.3f}" for v in edit),
        )
        for each, edit in zip(found.places, tried, strict=True)
    )
    print_table(columns, rows)
    most = sorted(found.attribution.items(), key=lambda part: -part[1])[:3]
    made = [f"{name} {share:.2f}" for name, share in most]
    say("cli.facts_known", facts=found.facts, parameters=found.parameters, made=made)
    say("cli.facts_memory", share=found.memory)


def print_capacity(stored: list[Stored], bits: float) -> None:
    """What models of several widths hold of the world."""
    rows = (
        (m.width, f"{m.parameters:,}", Message("cli.bits", known=m.bits, of=bits), f"{m.bits_per_parameter:.2f}")
        for m in stored
    )
    print_table(("width", "parameters", "bits_known", "bits_per_parameter"), rows)


@app.command()
def superposition(
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the figure is kept.")] = Path(
        "superposition"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer toys and steps.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of toys and data.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train many toy models that hold more features than dimensions, and draw how they do it."""
    from glassformer.documents.inside.results import titles
    from glassformer.documents.inside.superposition import QUICK, SuperpositionScale, study
    from glassformer.nn import files
    from glassformer.ui.drawing.superposition import draw_superposition

    folder.mkdir(parents=True, exist_ok=True)
    with progress_bar("cli.training_toys") as advance:
        found = study(QUICK if quick else SuperpositionScale(), seed, advance)
    dots = [(each.rarity, each.dimensionality) for each in found.dots]
    names = titles()
    drawn = draw_superposition(dots, found.shares, found.phases, found.importances, found.rarities, names)
    write_atomically(folder / "superposition.svg", drawn.encode())
    write_atomically(folder / "superposition.json", files.to_json(asdict(found)).encode())
    if as_json:
        return print_json(found)
    say("cli.pentagons", share=found.pentagons)
    geometries = ((names[name], f"{part:.2f}") for name, part in found.plateaus.items())
    print_table(("geometry", "largest_share"), geometries)
    rows = [(d.kind, d.explained, d.active, d.mean_max_cosine, d.recovered) for d in found.dictionaries]
    numbers = ((kind, *(f"{value:.3f}" for value in values)) for kind, *values in rows)
    print_table(("dictionary", "variance_explained", "active_features", "mean_max_cosine", "recovered"), numbers)
    note("common.wrote", place=folder / "superposition.svg")
    return None
