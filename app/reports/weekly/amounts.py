"""Money, device hours and energy as people read them: three digits or whole numbers, groups of thousands apart."""

from __future__ import annotations

from app.domain.weekly import Money, Monthly

_THIN = "\u202f"
_MINUS = "\u2212"


def number(value: float) -> str:
    """Return a number of at least three digits where it has them: `0.123`, `12.3`, `1 234`."""
    size = abs(value)
    if size >= 99.95 or size == 0:
        return grouped(value)
    decimals = 1 if size >= 9.995 else 2 if size >= 0.995 else 3
    return _with_minus(f"{value:.{decimals}f}")


def grouped(value: float) -> str:
    """Return a whole number with its thousands apart."""
    return _with_minus(f"{value:,.0f}".replace(",", _THIN))


def money(amount: Money) -> str:
    """Return an amount of money: whole from a hundred on, with two decimals below."""
    size = abs(amount.amount)
    digits = grouped(amount.amount) if size >= 99.995 else _with_minus(f"{amount.amount:.2f}")
    return f"{digits}\u00a0{amount.currency}"


def hours(value: float) -> str:
    """Return device hours."""
    return f"{number(value)}\u00a0h"


def energy(kwh: float) -> str:
    """Return energy in kilowatt-hours."""
    return f"{number(kwh)}\u00a0kWh"


def amounts(monthly: Monthly | None) -> tuple[str, ...]:
    """Return what a month takes more: money first, of all currencies, which tells most; then device hours, energy."""
    if monthly is None:
        return ()
    told = [" + ".join(map(money, monthly.money))] if monthly.money else []
    if monthly.device_hours is not None:
        told.append(hours(monthly.device_hours))
    if monthly.kwh is not None:
        told.append(energy(monthly.kwh))
    return tuple(told)


def saved(monthly: Monthly | None) -> tuple[str, ...]:
    """Return the same of what a month takes less."""
    return amounts(negated(monthly))


def negated(monthly: Monthly | None) -> Monthly | None:
    """Return the opposite."""
    if monthly is None:
        return None
    return Monthly(
        device_hours=None if monthly.device_hours is None else -monthly.device_hours,
        kwh=None if monthly.kwh is None else -monthly.kwh,
        money=tuple(Money(-each.amount, each.currency) for each in monthly.money),
        basis=monthly.basis,
    )


def _with_minus(text: str) -> str:
    return text.replace("-", _MINUS)
