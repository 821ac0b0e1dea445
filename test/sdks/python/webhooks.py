import functools
import json
import re
import time
import urllib.request

import openai
from program import RECEIVER, check, check_refused, client, equal, report, source, until

TYPES = ["video.completed", "video.failed"]
# Not every release that reads what it is told manages endpoints.
MANAGES = hasattr(client.webhooks, "create")


@functools.cache
def endpoint():
    """Where this program is told of its videos."""
    params = {"name": "films", "url": RECEIVER, "event_types": TYPES}
    if MANAGES:
        return client.webhooks.create(**params).to_dict()
    return client.post("/webhook_endpoints", body=params, cast_to=object)


def register():
    """Before anything is made. If it can't be, the rows that need it say so."""
    try:
        endpoint()
    except openai.APIError:
        pass


def deliveries():
    with urllib.request.urlopen(RECEIVER) as answer:
        return json.load(answer)


@functools.cache
def delivery():
    endpoint()
    of_source = lambda: next((each for each in deliveries() if source().id in each["body"]), None)
    return until(f"{source().id} is told", of_source)


def unwrap(told, secret):
    return client.webhooks.unwrap(told["body"], told["headers"], secret=secret)


def check_all():
    if MANAGES:
        check_endpoints()
    check_unwrap()
    if MANAGES:
        check_secret()
        check_delete()
    else:
        rows = ["eventTypes.list", "create", "retrieve", "update", "list", "test", "rotateSecret", "delete"]
        for row in rows:
            report(f"webhooks.{row}", none=f"openai {openai.__version__} manages no endpoints")


def check_endpoints():
    @check("webhooks.eventTypes.list")
    def _():
        types = client.webhooks.event_types.list()
        equal(types.object, "list")
        assert set(TYPES) <= set(types.data), types.data

    @check("webhooks.create")
    def _():
        seen = dict(endpoint())
        endpoint_id, secret, hint = seen.pop("id"), seen.pop("signing_secret"), seen.pop("signing_secret_hint")
        created_at, updated_at = seen.pop("created_at"), seen.pop("updated_at")
        expected = {"object": "webhook_endpoint", "name": "films", "url": RECEIVER, "event_types": TYPES}
        # Beside what the SDK knows, it says whether it was switched off.
        equal(seen, {**expected, "disabled_at": None, "disabled_reason": None})
        assert re.fullmatch(r"\w+", endpoint_id), endpoint_id
        assert type(created_at) is int and abs(created_at - time.time()) < 120, created_at
        equal(updated_at, created_at)
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{32,}={0,2}", secret), secret
        assert hint and secret not in hint, hint

    @check("webhooks.retrieve")
    def _():
        equal(client.webhooks.retrieve(endpoint()["id"]).to_dict(), shown())

    @check("webhooks.update")
    def _():
        changed = client.webhooks.update(endpoint()["id"], name="all films")
        equal(changed.to_dict(), {**shown(), "name": "all films", "updated_at": changed.updated_at})
        assert changed.updated_at >= endpoint()["updated_at"], changed
        equal(client.webhooks.update(endpoint()["id"], name="films").name, "films")

    @check("webhooks.list")
    def _():
        ids = [endpoint()["id"]]
        for name in ("second", "third"):
            ids.insert(0, client.webhooks.create(name=name, url=RECEIVER, event_types=["video.failed"]).id)
        seen = list(client.webhooks.list(limit=2))
        equal([each.id for each in seen], ids)
        assert not any("signing_secret" in each.to_dict() for each in seen), seen
        for endpoint_id in ids[:2]:
            client.webhooks.delete(endpoint_id)


def shown():
    """What is to be seen of the endpoint later on."""
    return {name: value for name, value in endpoint().items() if name != "signing_secret"}


def check_unwrap():
    @check("webhooks.unwrap")
    def _():
        event = json.loads(unwrap(delivery(), endpoint()["signing_secret"]).to_json(exclude_unset=True))
        assert abs(event.pop("created_at") - time.time()) < 120
        assert re.fullmatch(r"evt_\w+", event.pop("id"))
        equal(event, {"object": "event", "type": "video.completed", "data": {"id": source().id}})

    @check("webhooks.unwrap, a changed body")
    def _():
        changed = delivery()["body"].replace("video.completed", "video.failed")
        check_unreadable({**delivery(), "body": changed}, endpoint()["signing_secret"])


def check_unreadable(told, secret):
    try:
        unwrap(told, secret)
    except openai.InvalidWebhookSignatureError:
        return
    raise AssertionError("it was taken for genuine")


def check_secret():
    @check("webhooks.test")
    def _():
        for told in test():
            unwrap(told, endpoint()["signing_secret"])

    @check("webhooks.rotateSecret")
    def _():
        old = endpoint()["signing_secret"]
        rotated = client.webhooks.rotate_secret(endpoint()["id"], keep_old_secret_active_for_24_hours=True)
        equal(rotated.id, endpoint()["id"])
        assert rotated.signing_secret != old
        # While both are good, what is sent can be read with either.
        for told in test():
            unwrap(told, old)
            unwrap(told, rotated.signing_secret)
        newest = client.webhooks.rotate_secret(endpoint()["id"]).signing_secret
        for told in test():
            unwrap(told, newest)
            check_unreadable(told, old)


def test():
    before = len(deliveries())
    result = client.webhooks.test(endpoint()["id"], event_type="video.completed")
    expected = {"object": "webhook_endpoint.test", "event_type": "video.completed", "status_code": 200}
    equal(result.to_dict(), {**expected, "success": True, "webhook_endpoint_id": endpoint()["id"]})
    fresh = deliveries()[before:]
    assert fresh
    return fresh


def check_delete():
    @check("webhooks.delete")
    def _():
        endpoint_id = endpoint()["id"]
        deleted = client.webhooks.delete(endpoint_id).to_dict()
        equal(deleted, {"id": endpoint_id, "object": "webhook_endpoint.deleted", "deleted": True})
        check_refused(lambda: client.webhooks.retrieve(endpoint_id), openai.NotFoundError, 404)
