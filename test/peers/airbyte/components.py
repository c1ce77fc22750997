from dataclasses import dataclass

from airbyte_cdk.sources.declarative.transformations import RecordTransformation


@dataclass
class Document(RecordTransformation):
    """Moves the whole answer into one field, beside its plain values."""

    def transform(self, record, config=None, stream_state=None, stream_slice=None):
        document = clean(record)
        plain = {name: value for name, value in document.items() if not isinstance(value, list | dict)}
        record.clear()
        record.update(plain, document=document)


def clean(value):
    """Without NUL, which Postgres refuses, and half surrogate pairs: PyAirbyte drops their records."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value
