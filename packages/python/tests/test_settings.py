from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Optional
from unittest.mock import patch

from skerry import Skerry, SkerryInputError
from skerry._settings import Settings, find_settings


class SettingsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "skerry")
        self.folder.mkdir()
        self.env: Dict[str, str] = {"XDG_CONFIG_HOME": folder.name}

    def save(self, name: str, text: str, mode: int = 0o600) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)

    def find(
        self, base_url: Optional[str] = None, token: Optional[str] = None, organization: Optional[str] = None
    ) -> Settings:
        return find_settings(base_url=base_url, token=token, organization=organization, env=self.env)

    def test_what_is_given_counts_most_then_the_environment_then_the_file(self) -> None:
        self.save("config.json", json.dumps({"api_url": "http://saved:1", "token": "sk_s", "organization": "org_s"}))
        self.assertEqual(self.find(), Settings("http://saved:1", "sk_s", "org_s"))
        self.env.update(SKERRY_API_TOKEN=" sk_e ")
        # The saved organization was chosen for the saved token.
        self.assertEqual(self.find(), Settings("http://saved:1", "sk_e", None))
        self.env.update(SKERRY_API_URL="https://env:2/prefix/", SKERRY_ORG_ID="org_e")
        self.assertEqual(self.find(), Settings("https://env:2/prefix", "sk_e", "org_e"))
        self.assertEqual(self.find("http://given:3", "sk_g", "org_g"), Settings("http://given:3", "sk_g", "org_g"))

    def test_a_saved_token_goes_to_the_server_that_it_was_saved_for_and_to_no_other_one(self) -> None:
        self.save("config.json", json.dumps({"api_url": "http://saved:1/", "token": "sk_s"}))
        self.save("local.json", json.dumps({"api_url": "http://127.0.0.1:7070", "token": "sk_local"}))
        self.assertEqual(self.find("http://saved:1").token, "sk_s")
        self.assertEqual(self.find("http://127.0.0.1:7070").token, "sk_local")
        with self.assertRaises(SkerryInputError) as raised:
            self.find("http://evil:1")
        self.assertEqual(raised.exception.code, "no_token")

    def test_no_token_is_an_error_of_the_clients_own_and_an_empty_one_is_none(self) -> None:
        with patch.dict("os.environ", self.env, clear=True), self.assertRaises(SkerryInputError) as raised:
            Skerry()
        self.assertEqual(raised.exception.code, "no_token")
        self.assertIn("SKERRY_API_TOKEN", str(raised.exception))
        self.assertEqual(self.find("http://h", ""), Settings("http://h", None, None))

    def test_a_file_that_others_can_read_or_that_is_broken_is_refused_by_name(self) -> None:
        for text, mode, code in (
            ('{"token": "sk_s"}', 0o644, "config_not_private"),
            ("{", 0o600, "config_broken"),
            ("[]", 0o600, "config_broken"),
            ('{"token": 7}', 0o600, "config_broken"),
        ):
            self.save("config.json", text, mode)
            with self.subTest(text=text), self.assertRaises(SkerryInputError) as raised:
                self.find()
            self.assertEqual(raised.exception.code, code)
            self.assertIn(str(self.folder / "config.json"), str(raised.exception))
        # What nothing is needed from cannot get in the way.
        self.assertEqual(self.find("http://h", "sk_g").token, "sk_g")

    def test_what_can_be_no_address_or_no_token_is_refused_and_a_secret_is_not_repeated(self) -> None:
        for address in ("nonsense", "ftp://h", "http://", "http://[::1", "http://user:word@h"):
            with self.subTest(address=address), self.assertRaises(SkerryInputError) as raised:
                self.find(address, "sk_g")
        for token in ("sk_a b", "sk_ü", "sk_a\r\nx: y"):
            with self.subTest(token=token), self.assertRaises(SkerryInputError) as raised:
                self.find("http://h", token)
            self.assertNotIn(token, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
