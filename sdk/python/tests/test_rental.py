"""Tests complete rentals on a real gateway, whose clock only moves with control("advance")."""

import contextlib
import functools
import io
import os
import re
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from unittest import mock

from gpu_rental import ActionFailed, Client, DeployFailed, InvalidRequest, NotFound, Offer, Unauthorized, UnexpectedAnswer

from .support import GATEWAY_URL, Server, answer, control, needs_gateway, renter


@needs_gateway
class ARental(unittest.TestCase):
    def test_a_volume_from_its_creation_to_its_end(self) -> None:
        client = renter("100").client
        made = client.volumes.create("work", 100, idempotency_key="one")
        self.assertRegex(made.id, "^v-[a-f0-9]{8}$")
        self.assertEqual((made.name, made.size_gb, made.price_hr), ("work", 100, Decimal("0.01")))
        self.assertEqual((made.deleted_at, made.in_use_by, made.stored_bytes), (None, None, 0))
        self.assertEqual(client.volumes.create("work", 100, idempotency_key="one"), made)
        self.assertEqual(client.volumes.list().data, (made,))
        self.assertEqual(client.volumes.grow(made.id, 200).size_gb, 200)
        with self.assertRaises(ActionFailed):
            client.volumes.grow(made.id, 100)
        with self.assertRaises(InvalidRequest):
            client.volumes.create("work", 0)
        shown = client.volumes.get(made.id)
        self.assertEqual((shown.size_gb, shown.snapshots, shown.last_snapshot_at), (200, (), None))
        self.assertIsNotNone(client.volumes.delete(made.id).deleted_at)
        with self.assertRaises(NotFound):
            client.volumes.get("v-00000000")
        self.assertEqual(len(client.volumes.list()), 0)

    def test_from_prices_to_the_last_balance(self) -> None:
        client = renter("100").client

        sheet = client.gpus.pricing()
        self.assertEqual((sheet.object, sheet.currency, sheet.billing), ("gpu_pricing", "USD", "per_second"))
        self.assertEqual((sheet.count, len(sheet)), (83, 83))
        self.assertIs(type(sheet.market_snapshot), date)
        model = next(entry for entry in sheet if entry.slug == "rtx-4090")
        self.assertEqual(model.price_per_gpu_hour.interruptible, model.price_per_gpu_hour.on_demand / 2)

        offers = client.offers.list(gpu="rtx-4090", num_min=1, limit=3)
        self.assertEqual((offers.object, offers.count, len(offers)), ("offers", 3, 3))
        offer = offers[0]
        self.assertIsInstance(offer, Offer)
        self.assertEqual(offer.price_per_hour.on_demand, offer.num_gpus * model.price_per_gpu_hour.on_demand)
        self.assertGreaterEqual(min(offer.net_mbps.down, offer.net_mbps.up), 1)
        self.assertIs(type(offer.reliability), float)

        deployed = client.instances.deploy(offer.machine_id, template="pytorch", disk_gb=100, type="od")
        self.assertRegex(deployed.id, "^i-[a-f0-9]{8}$")
        self.assertEqual(
            (deployed.object, deployed.status, deployed.gpu, deployed.disk_gb, deployed.type, deployed.price_hr),
            ("instance", "running", "rtx-4090", 100, "od", offer.price_per_hour.on_demand),
        )
        self.assertEqual(deployed.created_at.utcoffset(), timedelta(0))
        self.assertIsNone(deployed.stopped_at)
        self.assertEqual(client.instances.list().data, (deployed,))

        control("advance", seconds=1800)
        stopped = client.instances.stop(deployed.id)
        self.assertEqual((stopped.status, stopped.stopped_at), ("stopped", deployed.created_at + timedelta(minutes=30)))
        control("advance", seconds=1800)
        started = client.instances.start(deployed.id)
        self.assertEqual((started.status, started.stopped_at), ("running", None))
        control("advance", seconds=1800)
        destroyed = client.instances.destroy(deployed.id)
        self.assertEqual((destroyed.object, destroyed.id, destroyed.status), ("instance", deployed.id, "destroyed"))

        self.assertEqual(len(client.instances.list()), 0)
        self.assertEqual(client.instances.get(deployed.id).status, "destroyed")
        shown = client.instances.timeline(deployed.id)
        self.assertEqual([each.kind for each in shown], ["destroyed", "started", "stopped", "rented"])
        self.assertEqual((shown[2].seconds, shown[2].stop_reason, shown[2].at), (1800, "user", stopped.stopped_at))
        older = client.instances.timeline(deployed.id, first=1, after=shown[1].cursor)
        self.assertEqual((older.data, older.page_info.has_next_page), ((shown[2],), True))
        with self.assertRaises(InvalidRequest):
            client.instances.timeline(deployed.id, after="nonsense")
        # The machine runs for two half hours, and the disk exists for an hour and a half.
        spend = deployed.price_hr + Decimal("0.00014") * 100 * Decimal("1.5")
        balance = client.balance.get()
        self.assertEqual((balance.balance, balance.month_spend, balance.currency), (100 - spend, spend, "USD"))

    def test_defaults_are_the_services_own(self) -> None:
        client = renter().client
        self.assertEqual(client.offers.list().count, 25)
        instance = client.instances.deploy(client.offers.list(limit=1)[0].machine_id)
        self.assertEqual((instance.template, instance.disk_gb, instance.type), ("pytorch", 50, "od"))

    def test_an_interruptible_one_is_called_spot(self) -> None:
        client = renter().client
        offer = client.offers.list(limit=1)[0]
        instance = client.instances.deploy(offer.machine_id, type="interruptible")
        self.assertEqual((instance.type, instance.price_hr), ("spot", offer.price_per_hour.interruptible))

    def test_every_filter_of_offers_is_sent(self) -> None:
        client = renter().client
        everything = client.offers.list(limit=100)
        some = everything[50]
        self.assertTrue(all(offer.region == some.region for offer in client.offers.list(region=some.region)))
        self.assertTrue(all(offer.gpu == some.gpu for offer in client.offers.list(gpu=some.gpu)))
        self.assertTrue(all(offer.num_gpus >= 8 for offer in client.offers.list(num_min=8)))
        self.assertEqual(client.offers.list(gpu="no-such").data, ())
        price = some.price_per_hour.on_demand
        for most in (price, float(price)):
            self.assertEqual(client.offers.list(price_max=most, limit=100)[-1].price_per_hour.on_demand, price)
        self.assertEqual(len(client.offers.list(price_max=0)), 0)
        # 0.30000000000000004 has more digits than the service accepts.
        client.offers.list(price_max=0.1 + 0.2)

    def test_prices_and_offers_need_no_key(self) -> None:
        anyone = Client(base_url=GATEWAY_URL + "/")
        self.assertEqual(len(anyone.gpus.pricing()), 83)
        self.assertEqual(anyone.offers.list(gpu="rtx-4090", limit=3).count, 3)

    def test_destroying_by_action_returns_the_instance(self) -> None:
        client = renter().client
        instance = client.instances.deploy(client.offers.list(limit=1)[0].machine_id)
        destroyed = client.instances.action(instance.id, "destroy")
        self.assertEqual((destroyed.status, destroyed.stopped_at), ("destroyed", instance.created_at))
        self.assertIsInstance(destroyed.created_at, datetime)
        self.assertIs(destroyed.created_at.tzinfo, timezone.utc)

    def test_another_accounts_instance_is_not_found(self) -> None:
        mine, other = renter().client, renter().client
        instance = mine.instances.deploy(mine.offers.list(limit=1)[0].machine_id)
        with self.assertRaises(NotFound):
            other.instances.destroy(instance.id)
        self.assertEqual(mine.instances.get(instance.id).status, "running")


@needs_gateway
class Templates(unittest.TestCase):
    def test_are_listed_saved_deployed_again_and_deleted(self) -> None:
        client = renter().client
        jupyter = next(each for each in Client(base_url=GATEWAY_URL).templates.list() if each.slug == "jupyter")
        self.assertEqual((jupyter.title, jupyter.vram_gb, jupyter.ports[0].port), ("JupyterLab", 8, 8888))
        token = next(variable for variable in jupyter.variables if variable.name == "JUPYTER_TOKEN")
        self.assertEqual((token.is_generated, token.made, token.required, token.default), (True, True, False, None))

        launch = {
            "template": "jupyter",
            "disk_gb": 60,
            "name": "mine",
            "env": {"EPOCHS": "a  b"},
            "secrets": ({"secret": "hf", "variable": "HF_TOKEN", "file": None},),
            "entrypoint": ("/bin/sh",),
            "command": ("-c", "exit 3"),
            "ports": ({"port": 8000, "name": "API"},),
            "tcp_ports": (22,),
            "registry_login": "hub",
            "user": "root",
            "restart": "never",
            "on_exit": "stop",
        }
        saved = client.templates.save("of-mine", description="to try", **launch)
        self.assertEqual((saved.name, saved.description, client.templates.saved()), ("of-mine", "to try", (saved,)))
        self.assertEqual(saved.arguments(), launch)
        self.assertIn("/launch?template=jupyter", saved.link)
        self.assertIs(saved.created_at.tzinfo, timezone.utc)

        plain = client.templates.save("of-mine", template="jupyter", env={"EPOCHS": "3"})
        instance = client.instances.deploy(client.offers.list(limit=1)[0].machine_id, **plain.arguments())
        self.assertEqual((instance.template, instance.disk_gb), ("jupyter", 50))
        # Without a host agent, the machine runs nothing.
        links = client.instances.links(instance.id)
        self.assertEqual((links.links, links.tokens), ((), ()))
        with self.assertRaises(NotFound):
            renter().client.instances.links(instance.id)
        client.instances.destroy(instance.id)
        with self.assertRaises(ActionFailed):
            client.instances.links(instance.id)
        with self.assertRaisesRegex(InvalidRequest, "name must be"):
            client.templates.save("No Name")
        with self.assertRaises(Unauthorized):
            Client(base_url=GATEWAY_URL).templates.saved()
        self.assertEqual(client.templates.delete("of-mine"), plain)
        with self.assertRaises(NotFound):
            client.templates.delete("of-mine")

    def test_links_have_tokens_that_no_log_shows(self) -> None:
        link = {"name": "Lab", "port": 8888, "path": "/lab?token=ab", "url": "http://i-1.gpu.localhost/lab", "open": False}
        token = {"variable": "TOKEN", "value": "hush-hush", "in_link": True}
        answers = [{"links": [link], "tokens": [token]}, {"links": [{**link, "port": "8888"}], "tokens": []}]
        with Server(*(answer(200, {"data": {"instanceLinks": one}}) for one in answers)) as server:
            client = server.client()
            found = client.instances.links("i-00000001")
            self.assertEqual((found.links[0].path, found.tokens[0].value), ("/lab?token=ab", "hush-hush"))
            self.assertNotIn("hush-hush", repr(found.tokens))
            with self.assertRaisesRegex(UnexpectedAnswer, r"instanceLinks\.links\[0\]\.port is not of type int"):
                client.instances.links("i-00000001")


@needs_gateway
class TheReadme(unittest.TestCase):
    def test_has_a_quick_start_that_runs(self) -> None:
        readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
        script, shown = re.findall(r"```(?:python)?\n(.*?)```", readme.split("## Quick start")[1], re.DOTALL)[:2]
        client = functools.partial(Client, base_url=GATEWAY_URL)
        printed = io.StringIO()
        with mock.patch("gpu_rental.Client", client), mock.patch.dict(os.environ, {"GPU_API_KEY": renter().key}):
            with contextlib.redirect_stdout(printed):
                exec(script, {})

        # Compares the lines except for the region and words that contain digits.
        def shape(text: str) -> str:
            return re.sub(r"[\w.:+'-]*\d[\w.:+'-]*", "#", re.sub(r"^(\S+) \S+", r"\1", text))

        self.assertEqual(shape(printed.getvalue()), shape(shown))


@needs_gateway
class Threads(unittest.TestCase):
    def test_share_one_client(self) -> None:
        client = renter("1000").client
        machines = [offer.machine_id for offer in client.offers.list(gpu="rtx-4090", limit=16)]

        def rental(machine_id: str) -> str:
            instance = client.instances.deploy(machine_id, disk_gb=1)
            assert client.instances.get(instance.id) == instance
            client.instances.stop(instance.id)
            return client.instances.destroy(instance.id).id

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(rental, machines))
        self.assertEqual(len(set(ids)), 16)
        self.assertEqual(len(client.instances.list()), 0)

    def test_that_race_for_a_machine_get_it_once(self) -> None:
        client = renter("1000").client
        machine_id = client.offers.list(limit=1)[0].machine_id
        line = threading.Barrier(8)

        def deploy(_: int) -> bool:
            line.wait(5)
            try:
                client.instances.deploy(machine_id, disk_gb=1)
                return True
            except DeployFailed:
                return False

        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(sum(pool.map(deploy, range(8))), 1)
        self.assertEqual(len(client.instances.list()), 1)
