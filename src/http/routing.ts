import type { RequestHandler } from 'express';
import { DomainError } from '../domain/kernel/errors.js';

/** Sets a request's route for its log line. */
export function named(route: string): RequestHandler {
  return (request, _response, next) => {
    request.state.route = route;
    next();
  };
}

/**
 * Treats a path with invalid percent-encoding literally, so that it results in an unknown id or route instead of a
 * router error.
 */
export const acceptAnyPath: RequestHandler = (request, _response, next) => {
  try {
    decodeURIComponent(request.path);
  } catch {
    const [path = '', ...query] = request.url.split('?');
    request.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
};

/** Rejects methods other than `allowed`, such as `GET, HEAD, OPTIONS`. */
export function refuseOtherMethods(allowed: string): RequestHandler {
  return (request, response) => {
    response.setHeader('Allow', allowed);
    throw new DomainError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allowed}`);
  };
}

export const refuseUnknownRoute: RequestHandler = (request) => {
  throw new DomainError('no_route', `no such endpoint: ${request.method} ${request.path}`);
};
