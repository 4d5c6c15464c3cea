"""The package's exceptions, all of which are :class:`GpuRentalError`.

:class:`ApiError` has a subclass for each of the service's error codes.
"""

from typing import Dict, Optional, Type

RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})


class GpuRentalError(Exception):
    """Base class of all exceptions in this package."""

    #: The ``Idempotency-Key`` of the failed request, or None for reads. Within 24 hours, the same call with this key
    #: returns the original response if the request was executed after all, and otherwise executes it.
    idempotency_key: Optional[str] = None

    #: Whether the same request may succeed later. The client has already retried it up to its limits.
    retryable: bool = False


class ConnectionFailed(GpuRentalError):
    """No complete response arrived: there was no connection, it was lost, or time ran out (see ``__cause__``).

    The service may or may not have executed the request. See ``idempotency_key``.
    """

    def __init__(self, message: str, retryable: bool = True) -> None:
        super().__init__(message, retryable)
        self.message = message
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message


class ApiError(GpuRentalError):
    """The service refused the request. Codes that this version of the package doesn't know raise a plain ApiError."""

    #: Stable code, such as ``deploy_failed``.
    code: str
    #: HTTP status.
    status: int
    #: Human-readable explanation of what was refused and why.
    message: str
    #: Identifies the request in the service's log.
    request_id: Optional[str]
    #: Seconds after which the same request may succeed, if specified by the service.
    retry_after: Optional[int]

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        request_id: Optional[str] = None,
        retry_after: Optional[int] = None,
    ) -> None:
        super().__init__(code, status, message, request_id, retry_after)
        self.code = code
        self.status = status
        self.message = message
        self.request_id = request_id
        self.retry_after = retry_after
        self.retryable = status in RETRYABLE_STATUSES or code == "idempotency_in_progress"

    def __str__(self) -> str:
        request = f", request {self.request_id}" if self.request_id else ""
        return f"{self.message} ({self.code}, HTTP {self.status}{request})"


class Unauthorized(ApiError):
    """401: The key is missing, unknown or revoked."""


class Forbidden(ApiError):
    """403: The key lacks a scope, which the message names."""


class NotFound(ApiError):
    """404: The account has no such instance."""


class NoRoute(ApiError):
    """404: There is no such endpoint. Check that ``base_url`` ends in ``/v1``."""


class MethodNotAllowed(ApiError):
    """405: The endpoint doesn't support this method."""


class DeployFailed(ApiError):
    """409: A business rule prevents the deploy. The message explains why (balance, machine taken, disk)."""


class ActionFailed(ApiError):
    """409: A business rule prevents the action. For example, the instance's state doesn't allow it."""


class IdempotencyInProgress(ApiError):
    """409: An earlier request with this idempotency key is still in progress."""


class IdempotencyMismatch(ApiError):
    """422: This idempotency key was used with a different operation or input."""


class InvalidJson(ApiError):
    """400: The body isn't JSON."""


class PayloadTooLarge(ApiError):
    """413: The body is larger than the service accepts."""


class InvalidRequest(ApiError):
    """422: A value is out of bounds. The message names the field and its bounds."""


class MissingMachine(ApiError):
    """422: The deploy has no machine_id."""


class BadAction(ApiError):
    """422: There is no such action."""


class RateLimited(ApiError):
    """429: There were too many requests. ``retry_after`` is set."""


class InternalError(ApiError):
    """500: The service failed. ``request_id`` identifies the error in its log."""


class Unavailable(ApiError):
    """503: The service is temporarily unavailable."""


class UnexpectedAnswer(ApiError):
    """The response doesn't come from this service or breaks its contract, with the code ``unexpected_answer``.

    Examples are a redirect, another program's page, or an object without a required field.
    """


BY_CODE: Dict[str, Type[ApiError]] = {
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "no_route": NoRoute,
    "method_not_allowed": MethodNotAllowed,
    "deploy_failed": DeployFailed,
    "action_failed": ActionFailed,
    "idempotency_in_progress": IdempotencyInProgress,
    "idempotency_mismatch": IdempotencyMismatch,
    "invalid_json": InvalidJson,
    "payload_too_large": PayloadTooLarge,
    "invalid_request": InvalidRequest,
    "missing_machine": MissingMachine,
    "bad_action": BadAction,
    "rate_limited": RateLimited,
    "internal": InternalError,
    "unavailable": Unavailable,
}
