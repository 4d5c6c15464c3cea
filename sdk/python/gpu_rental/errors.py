"""What can go wrong. Every exception of the package is a :class:`GpuRentalError`.

The classes below :class:`ApiError` are the error codes of the service, one each.
"""

from typing import Dict, Optional, Type

RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})


class GpuRentalError(Exception):
    """Base of all exceptions here."""

    #: The ``Idempotency-Key`` of the request that failed; None for reads. The same call with this key within 24 hours
    #: repeats the answer if the request was carried out after all, and carries it out if it was not.
    idempotency_key: Optional[str] = None

    #: Whether the same request may pass later. Requests are sent again by themselves until the limits of the client.
    retryable: bool = False


class ConnectionFailed(GpuRentalError):
    """No complete answer: no connection, a connection that was cut, or time ran out. ``__cause__`` says which.

    The service may or may not have carried out the request; see ``idempotency_key``.
    """

    def __init__(self, message: str, retryable: bool = True) -> None:
        super().__init__(message, retryable)
        self.message = message
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message


class ApiError(GpuRentalError):
    """The service refused the request. A code unknown to this version of the package is a plain ApiError."""

    #: Stable code, such as ``deploy_failed``.
    code: str
    #: HTTP status.
    status: int
    #: For people: what was refused and why.
    message: str
    #: Names the request in the service's log.
    request_id: Optional[str]
    #: Seconds after which the same request may pass, where the service says so.
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
    """401: the key is missing, unknown or revoked."""


class Forbidden(ApiError):
    """403: the key lacks a scope; the message names it."""


class NotFound(ApiError):
    """404: the account has no such instance."""


class NoRoute(ApiError):
    """404: no such endpoint. ``base_url`` ends with ``/v1``."""


class MethodNotAllowed(ApiError):
    """405: the endpoint does not take this method."""


class DeployFailed(ApiError):
    """409: a business rule refuses the deploy; the message says why (balance, machine taken, disk)."""


class ActionFailed(ApiError):
    """409: a business rule refuses the action, such as one that the instance's state does not allow."""


class IdempotencyInProgress(ApiError):
    """409: an earlier request with this key is still under way."""


class IdempotencyMismatch(ApiError):
    """422: this key was used with another operation or input."""


class InvalidJson(ApiError):
    """400: the body is not JSON."""


class PayloadTooLarge(ApiError):
    """413: the body is larger than the service takes."""


class InvalidRequest(ApiError):
    """422: a value is out of its bounds; the message names the field and the bounds."""


class MissingMachine(ApiError):
    """422: a deploy without a machine_id."""


class BadAction(ApiError):
    """422: no such action."""


class RateLimited(ApiError):
    """429: too many requests; ``retry_after`` is set."""


class InternalError(ApiError):
    """500: a fault of the service; ``request_id`` names it in the log."""


class Unavailable(ApiError):
    """503: the service can't serve now."""


class UnexpectedAnswer(ApiError):
    """The answer is none of this service's: a redirect, another program's page, an object without a field that the
    contract promises. Its code is ``unexpected_answer``."""


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
