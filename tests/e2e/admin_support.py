"""What the tests of the port for operators share."""

import http.client
import json
import re
import urllib.parse

from support import PATIENCE


def ask(port, path, host=None):
    """Status, headers and body of one GET."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8")
    finally:
        connection.close()


def ask_json(port, path):
    status, _, body = ask(port, path)
    assert status == 200, (path, status, body)
    return json.loads(body)


def quoted(name):
    return urllib.parse.quote(name, safe="")


class Metrics:
    """What /metrics says: families by name, and samples by name and labels."""

    SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, port):
        status, self.headers, self.text = ask(port, "/metrics")
        assert status == 200, self.text
        self.types, self.help, self.samples = {}, {}, {}
        for line in self.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ", 3)
                self.types[name] = kind
            elif line.startswith("# HELP "):
                _, _, name, text = line.split(" ", 3)
                self.help[name] = text
            elif line:
                name, labels, value = self.SAMPLE.match(line).groups()
                self.samples[name, frozenset(self.LABEL.findall(labels or ""))] = float(value)

    def get(self, name, **labels):
        """The sum of all samples with these labels."""
        wanted = set(labels.items())
        found = [value for (of, has), value in self.samples.items() if of == name and wanted <= has]
        assert found, f"no {name} {labels} in\n{self.text}"
        return sum(found)

    def buckets(self, name, **labels):
        """(bound, count) of a histogram, in the order of the text."""
        wanted = set(labels.items())
        return [(float(dict(has)["le"]), value) for (of, has), value in self.samples.items()
                if of == name + "_bucket" and wanted <= has]
