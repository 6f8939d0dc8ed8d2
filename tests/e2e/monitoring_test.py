"""The dashboard, the alert rules and the runbooks speak of metrics that there are."""

import json
import os
import re
import unittest

from admin_support import Metrics
from support import Lockkeeper, Redis, main, stripe_of

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def read(*path):
    with open(os.path.join(DOCS, *path), encoding="utf-8") as file:
        return file.read()


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Redis() as master, Lockkeeper(http=True, config=stripe_of([master])) as server:
            server.wait_for_votes(2)
            metrics = Metrics(server.http_port)
        cls.samples = {name for name, _ in metrics.samples}
        cls.labels = {(name, label) for name, has in metrics.samples for label, _ in has}
        cls.values = {(name, label, value) for name, has in metrics.samples for label, value in has}
        cls.alerts = read("monitoring", "alerts.yaml")
        cls.dashboard = json.loads(read("monitoring", "dashboard.json"))

    def expressions(self):
        """All of PromQL in both files."""
        found = re.findall(r"expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", self.alerts)
        yield from (several or one for several, one in found)
        for panel in self.dashboard["panels"]:
            yield from (target["expr"] for target in panel.get("targets", []))
        yield from (one["query"] for one in self.dashboard["templating"]["list"] if one["type"] == "query")

    def test_every_metric_exists(self):
        seen = 0
        for expression in self.expressions():
            for name in re.findall(r"lockkeeper_\w+", expression):
                seen += 1
                self.assertIn(name, self.samples, expression)
        self.assertGreater(seen, 60)

    def test_every_label_exists(self):
        by_prometheus = {"instance", "job"}
        for expression in self.expressions():
            for name, selector in re.findall(r"(lockkeeper_\w+)\{([^}]*)\}", expression):
                for label, how, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', selector):
                    if label in by_prometheus:
                        continue
                    self.assertIn((name, label), self.labels, expression)
                    if how != "=~":
                        self.assertIn((name, label, value), self.values, expression)
                    else:
                        for each in value.split("|"):
                            self.assertIn((name, label, each), self.values, expression)

    def test_every_alert_has_a_runbook_and_every_runbook_an_alert(self):
        alerts = re.findall(r"alert: (\w+)", self.alerts)
        section = read("operations.md").split("## Alerts and runbooks", 1)[1].split("\n## ", 1)[0]
        with_runbook = re.findall(r"`(Lockkeeper\w+)`", section)
        self.assertEqual(sorted(alerts), sorted(set(alerts)))
        self.assertEqual(set(alerts), set(with_runbook))

    def test_every_panel_is_explained(self):
        for panel in self.dashboard["panels"]:
            if panel["type"] != "row":
                self.assertTrue(panel["description"] and panel["targets"], panel["title"])


if __name__ == "__main__":
    main()
