import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** One server's request and response classes. */
export interface Messages {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

export function createMessages(): Messages {
  return {
    IncomingMessage: class extends IncomingMessage {
      /** This is only a declaration. Node's own constructor sets the value through the setter below. */
      declare offersUpgrade: unknown;

      /**
       * Node sets this once it has read the head, and hands over the connection if it is true. Clients that offer a
       * protocol other than WebSocket, such as h2c, expect an HTTP/1.1 response, so their requests are read like any
       * other.
       */
      get upgrade(): boolean {
        if (this.offersUpgrade !== true) return false;
        return this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket';
      }

      set upgrade(value: unknown) {
        this.offersUpgrade = value;
      }
    },
    ServerResponse: class<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {},
  };
}

/**
 * Makes a server's messages inherit the methods of its Express app. Otherwise, Express would change the prototype of
 * each message, which is expensive in V8: a third of the allocations outlived their collection, and each collection
 * took 5 to 8 ms.
 */
export function inheritFromExpress(messages: Messages, app: Express): void {
  app.request = Object.setPrototypeOf(messages.IncomingMessage.prototype, app.request);
  app.response = Object.setPrototypeOf(messages.ServerResponse.prototype, app.response);
}
