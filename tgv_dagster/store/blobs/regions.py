"""Where a storage target lies: in the European Union, outside, or not said (RAW-13).

Belongs here: the countries of the Union and which country a provider's region name means.
Does not belong here: what follows from the answer; the audit decides that.

A region is declared as a country (`DE`, `DE-BY`), as `EU`, or as a provider's region name, with
the provider in front where names clash (`aws:eu-west-1` is Ireland, `wasabi:eu-west-1` London).
"""

from enum import StrEnum
from typing import Final

import pycountry

# Member states, and the territories to which the Treaties apply although ISO 3166 gives them
# a code of their own: Åland and the outermost regions of Art. 349 TFEU.
_MEMBER_STATES: Final = (
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK"
)
_TERRITORIES: Final = "AX GF GP MF MQ RE YT"
EU_COUNTRIES: Final = frozenset(f"{_MEMBER_STATES} {_TERRITORIES}".split())

_COUNTRY_BY_REGION: Final[dict[str, dict[str, str]]] = {
    "aws": {
        "eu-central-1": "DE",
        "eu-central-2": "CH",
        "eu-north-1": "SE",
        "eu-south-1": "IT",
        "eu-south-2": "ES",
        "eu-west-1": "IE",
        "eu-west-2": "GB",
        "eu-west-3": "FR",
        "eusc-de-east-1": "DE",
        "us-east-1": "US",
        "us-east-2": "US",
        "us-west-1": "US",
        "us-west-2": "US",
        "ca-central-1": "CA",
        "il-central-1": "IL",
        "ap-northeast-1": "JP",
        "ap-south-1": "IN",
        "ap-southeast-1": "SG",
        "ap-southeast-2": "AU",
        "sa-east-1": "BR",
    },
    "azure": {
        "austriaeast": "AT",
        "belgiumcentral": "BE",
        "francecentral": "FR",
        "francesouth": "FR",
        "germanynorth": "DE",
        "germanywestcentral": "DE",
        "italynorth": "IT",
        "northeurope": "IE",
        "norwayeast": "NO",
        "norwaywest": "NO",
        "polandcentral": "PL",
        "spaincentral": "ES",
        "swedencentral": "SE",
        "switzerlandnorth": "CH",
        "switzerlandwest": "CH",
        "uksouth": "GB",
        "ukwest": "GB",
        "westeurope": "NL",
        "eastus": "US",
        "eastus2": "US",
        "westus": "US",
        "westus2": "US",
    },
    "exoscale": {
        "at-vie-1": "AT",
        "at-vie-2": "AT",
        "bg-sof-1": "BG",
        "ch-dk-2": "CH",
        "ch-gva-2": "CH",
        "de-fra-1": "DE",
        "de-muc-1": "DE",
    },
    "gcp": {
        "europe-central2": "PL",
        "europe-north1": "FI",
        "europe-north2": "SE",
        "europe-southwest1": "ES",
        "europe-west1": "BE",
        "europe-west2": "GB",
        "europe-west3": "DE",
        "europe-west4": "NL",
        "europe-west6": "CH",
        "europe-west8": "IT",
        "europe-west9": "FR",
        "europe-west10": "DE",
        "europe-west12": "IT",
        "us-central1": "US",
        "us-east1": "US",
        "us-east4": "US",
        "us-west1": "US",
    },
    "hetzner": {
        "fsn1": "DE",
        "nbg1": "DE",
        "hel1": "FI",
        "ash": "US",
        "hil": "US",
        "sin": "SG",
    },
    "ovh": {
        "de": "DE",
        "gra": "FR",
        "rbx": "FR",
        "sbg": "FR",
        "waw": "PL",
        "bhs": "CA",
        "uk": "GB",
        "sgp": "SG",
        "syd": "AU",
    },
    "scaleway": {"fr-par": "FR", "nl-ams": "NL", "pl-waw": "PL"},
    "wasabi": {
        "eu-central-1": "NL",
        "eu-central-2": "DE",
        "eu-south-1": "IT",
        "eu-west-1": "GB",
        "eu-west-2": "FR",
        "eu-west-3": "GB",
        "us-east-1": "US",
        "us-east-2": "US",
        "us-west-1": "US",
        "ca-central-1": "CA",
        "ap-northeast-1": "JP",
    },
}


class RegionStanding(StrEnum):
    """Where a declared region lies as far as this product knows."""

    EU = "eu"
    OUTSIDE = "outside"
    UNDECLARED = "undeclared"


def region_standing(region: str | None) -> RegionStanding:
    """Say where a declared region lies; whatever is not known is `UNDECLARED` (RAW-13).

    A provider's region name without its provider counts only when every provider that uses the
    name means the same side of the border.
    """
    countries = _countries(region.strip()) if region else frozenset()
    if not countries:
        return RegionStanding.UNDECLARED
    if countries <= EU_COUNTRIES:
        return RegionStanding.EU
    if countries.isdisjoint(EU_COUNTRIES):
        return RegionStanding.OUTSIDE
    return RegionStanding.UNDECLARED


def _countries(region: str) -> frozenset[str]:
    """Return every country the declaration may mean; empty when none is known."""
    provider, colon, name = region.lower().rpartition(":")
    if colon:
        country = _COUNTRY_BY_REGION.get(provider, {}).get(name)
        return frozenset({country} if country else ())
    if name == "eu":
        return EU_COUNTRIES
    named = frozenset(regions[name] for regions in _COUNTRY_BY_REGION.values() if name in regions)
    return named | _country_code(region)


def _country_code(region: str) -> frozenset[str]:
    """Return the ISO 3166-1 code of `DE` or of a subdivision of it such as `DE-BY`."""
    code = region.upper()
    if "-" in code:
        inside = getattr(pycountry.subdivisions.get(code=code), "country_code", None)
        return frozenset({inside} if inside else ())
    country = pycountry.countries.get(alpha_2=code) if len(code) == 2 else None
    return frozenset({country.alpha_2} if country else ())
