"""Singer tap of one rooftop: the lists of its windows, and each evaluation of a list."""

import json

import singer_sdk.typing as th
from singer_sdk import RESTStream, Tap
from singer_sdk.contrib.msgspec import MsgSpecWriter
from singer_sdk.pagination import BaseAPIPaginator

JSON_LIST = th.ArrayType(th.ObjectType(additional_properties=True))
TEXTS = """VIN EntryDate UserName UserEmail Make Model Variant Registration RegistrationState Colour Notes CustomerName
CustomerPhone CustomerEmail CustomerPostcode CustomerState CustomerAddress CustomerSuburb""".split()


class AppraisalStream(RESTStream):
    http_method = "POST"
    records_jsonpath = "$[*]"
    timeout = 60

    @property
    def url_base(self):
        return self.config["base"]

    @property
    def http_headers(self):
        return {self.config["key_header"]: self.config["key"], "X-Dealer-Id": self.config["dealer"]}

    def backoff_wait_generator(self):
        seconds, error = 2, (yield)
        while True:
            response = getattr(error, "response", None)
            after = response.headers.get("Retry-After") if response is not None else None
            error = yield int(after or seconds)
            seconds *= 2


class Windows(BaseAPIPaginator):
    """The token of a page is the start of its window."""

    def __init__(self, start, config):
        super().__init__(start)
        self.step, self.now = config["step"], config["now"]

    def has_more(self, response):
        return self.current_value + self.step < self.now

    def get_next(self, response):
        return self.current_value + self.step

    def continue_if_empty(self, response):
        return True


class EvalList(AppraisalStream):
    name, path, primary_keys = "evallist", "/getevallist", ("EvalID",)
    # An item of the list has no time of its own.
    replication_key, is_sorted = "window_end", False
    schema = th.PropertiesList(
        th.Property("EvalID", th.IntegerType),
        th.Property("UpdatedAt", th.DateTimeType),
        th.Property("window_end", th.IntegerType),
    ).to_dict()

    def get_records(self, context):
        end = self.get_starting_replication_key_value(context)
        start = self.config["start"]
        self.first = max(start, end - self.config["lag"]) if end else start
        yield from super().get_records(context)

    def get_new_paginator(self):
        return Windows(self.first, self.config)

    def prepare_request_payload(self, context, token):
        # Both bounds are exclusive.
        return {"startdate": token - 1, "enddate": min(token + self.config["step"], self.config["now"])}

    def parse_response(self, response):
        end = json.loads(response.request.body)["enddate"]
        for item in super().parse_response(response):
            yield {**item, "window_end": end}

    def get_child_context(self, record, context):
        return {"evalid": record["EvalID"]}


class Evaluation(AppraisalStream):
    name, path, primary_keys = "evaluation", "/geteval", ("EvalID",)
    parent_stream_type = EvalList
    # Else the state has an entry for each evaluation.
    state_partitioning_keys = ()
    schema = th.PropertiesList(
        th.Property("EvalID", th.IntegerType),
        th.Property("dealer", th.StringType),
        *(th.Property(name, th.StringType) for name in TEXTS),
        *(th.Property(name, th.DateTimeType) for name in ("CreatedAt", "CompletedAt", "UpdatedAt")),
        *(th.Property(name, th.IntegerType) for name in ("DealerID", "Year", "Condition")),
        *(th.Property(name, th.NumberType) for name in ("FinalPrice", "Reconditioning", "Odometer")),
        *(th.Property(name, JSON_LIST) for name in ("UserPrices", "reconditioning_list", "CarPics", "Photos")),
        th.Property("customFields", th.ObjectType(additional_properties=True)),
    ).to_dict()

    def prepare_request_payload(self, context, token):
        return {"evalid": context["evalid"]}

    def validate_response(self, response):
        # Not found: no longer there since it was listed.
        if response.status_code != 400:
            super().validate_response(response)

    def parse_response(self, response):
        return [] if response.status_code == 400 else super().parse_response(response)

    def post_process(self, row, context=None):
        return {**row, "dealer": self.config["dealer"]}


class TapAppraisals(Tap):
    name = "tap-appraisals"
    message_writer_class = MsgSpecWriter
    config_jsonschema = th.PropertiesList(
        *(th.Property(name, th.StringType, required=True) for name in ("base", "key_header", "dealer")),
        th.Property("key", th.StringType, required=True, secret=True),
        *(th.Property(name, th.IntegerType, required=True) for name in ("start", "now", "step", "lag")),
    ).to_dict()

    def discover_streams(self):
        return [EvalList(self), Evaluation(self)]


if __name__ == "__main__":
    TapAppraisals.cli()
