"""Made results of the experiment on networks."""

import pandas as pd
from experiments._shared.measures import MEASURES
from experiments.neural._results import Results
from experiments.neural._study import Study

ABOUT = {
    "source": "",
    "kind": "network",
    "n_classes": 10,
    "n_fit": 5000,
    "n_test": 5000,
    "logits": 1,
    "divided_here": 0,
    "sha256": "",
}


def make_study(folder, losses, about=None, differences=(), fits=None):
    """Results whose measures are all the given numbers; a network is its own source."""
    results = Results(folder)
    lines = [
        [network, method, measure, value]
        for network, values in losses.items()
        for method, value in values.items()
        for measure in MEASURES
    ]
    columns = ["network", "method", "measure", "value"]
    results.write("rows.csv", pd.DataFrame(lines, columns=columns))
    networks = [
        {"network": name, **ABOUT, "source": name, **(about or {}).get(name, {})} for name in losses
    ]
    results.write("networks.csv", pd.DataFrame(networks))
    pairs = [(network, method) for network, values in losses.items() for method in values]
    common = {"grid": "paper", "seconds": 1.0, "megabytes": 100, "identity_share": ""}
    lines = [
        {"network": network, "method": method, **common, **(fits or {}).get((network, method), {})}
        for network, method in pairs
    ]
    results.write("fits.csv", pd.DataFrame(lines))
    columns = ["network", "method", "other", "difference", "low", "high", "moved"]
    choices = ["network", "method", "parameter", "value", "position", "n_values"]
    results.write("choices.csv", pd.DataFrame(columns=choices))
    results.write("differences.csv", pd.DataFrame(differences, columns=columns))
    return Study(results)
