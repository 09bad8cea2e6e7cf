"""A server whose answers may be kept for a while: some by everybody, some by their owner alone."""

from __future__ import annotations

from typing import Any

from mcpsim.server import Context, Server


def price_list(**settings: Any) -> Server:
    """A price list for everybody, a balance for each customer, and a tool that changes the price.

    Args:
        settings: as for `Server`, such as `ttl_ms=5_000` for its lists.
    """
    settings.setdefault("ttl_ms", 60_000)
    settings.setdefault("cache_scope", "public")
    settings.setdefault("subscribe", True)
    settings.setdefault("list_changed", True)
    shop = Server("price-list", **settings)
    price = {"paper": 4}
    balances = {"ada": 12, "ben": 30}

    @shop.resource("price://paper", mime_type="text/plain", ttl_ms=30_000, cache_scope="public")
    def paper() -> str:
        """The price of paper, the same for everybody."""
        return f"{price['paper']} a pack"

    @shop.resource("balance://mine", mime_type="text/plain", ttl_ms=30_000, cache_scope="private")
    def balance(context: Context) -> str:
        """The balance of whoever asks."""
        return f"{context.principal or 'somebody'} has {balances.get(context.principal, 0)}"

    @shop.tool()
    def set_price(amount: int) -> str:
        """Change the price of paper."""
        price["paper"] = amount
        shop.resource_updated("price://paper")
        return f"Paper now costs {amount}"

    return shop
