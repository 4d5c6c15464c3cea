// Mercurius with graphql-jit, using the gateway's own schema text. The offers are held in memory, sorted and with their
// prices computed. Scalars are passed through.
import Fastify from 'fastify';
import mercurius from 'mercurius';

/** An operation is compiled when it is sent for the second time. */
const JIT_AFTER = 1;

process.once('message', async ({ schema, offers }) => {
  const app = Fastify();
  app.register(mercurius, { schema, resolvers: resolversFor(offers), jit: JIT_AFTER });
  await app.listen({ port: 0, host: '127.0.0.1' });
  process.send({ port: app.server.address().port });
});

function resolversFor(offers) {
  return {
    Query: {
      offers: (_root, { gpu, region, numMin, priceMax, limit }) => {
        const found = [];
        for (const offer of offers) {
          if (gpu != null && offer.gpu !== gpu) continue;
          if (region != null && offer.region !== region) continue;
          if (offer.numGpus < numMin) continue;
          // The offers are sorted by price, so all remaining ones exceed the limit.
          if (priceMax != null && offer.pricePerHour.onDemand > priceMax) break;
          found.push(offer);
          if (found.length === limit) break;
        }
        return found;
      },
    },
  };
}
