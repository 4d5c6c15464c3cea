/** An example operation. GraphiQL opens it in its own tab, titled with the operation's name. */
export interface GraphiqlExample {
  query: string;
  variables?: Record<string, unknown>;
}

export const GRAPHIQL_EXAMPLES: readonly GraphiqlExample[] = [
  {
    // GraphiQL ignores the variables in its first tab.
    query: `# Prices of all GPU models. Public; needs no API key.
query PriceSheet {
  pricing {
    marketSnapshot
    priceRule
    count
    data {
      slug
      name
      vramGb
      pricePerGpuHour {
        onDemand
        interruptible
        reserved
      }
      marketMedian
      availableGpus
    }
  }
}`,
  },
  {
    query: `# Machines that can be rented now, cheapest first. Public.
query CheapestOffers(
  $gpu: String
  $region: String
  $numMin: Int
  $priceMax: Float
  $limit: Int
) {
  offers(
    gpu: $gpu
    region: $region
    numMin: $numMin
    priceMax: $priceMax
    limit: $limit
  ) {
    machineId
    gpu
    numGpus
    regionInfo {
      code
      name
    }
    vcpus
    ramGb
    diskGb
    reliability
    pricePerHour {
      onDemand
      interruptible
    }
  }
}`,
    variables: { gpu: 'rtx-4090', numMin: 1, priceMax: 5, limit: 5 },
  },
  {
    query: `# Paste your API key under Headers, once for all tabs.
query MyAccount {
  account {
    name
    balance
    monthSpend
    burnPerHour
    exhaustsAt
    limits {
      requestsPerMinute
    }
  }
  instances {
    id
    status
    gpu
    numGpus
    mode
    priceHr
    hostname
    usage {
      gpuSeconds
      total
    }
  }
}`,
  },
  {
    query: `# Set machineId, and a new idempotencyKey per rental.
mutation Deploy($input: DeployInput!) {
  deploy(input: $input) {
    id
    status
    hostname
    priceHr
    diskPriceHr
    createdAt
  }
}`,
    variables: {
      input: {
        machineId: 'PASTE_A_MACHINE_ID',
        template: 'pytorch',
        diskGb: 50,
        mode: 'ON_DEMAND',
        idempotencyKey: 'my-first-rental',
      },
    },
  },
  {
    query: `# Set id, and action to STOP, START or DESTROY.
mutation StopStartDestroy($id: ID!, $action: InstanceActionKind!) {
  action(id: $id, action: $action) {
    id
    status
    stoppedAt
    destroyedAt
    usage {
      gpuSeconds
      total
    }
  }
}`,
    variables: { id: 'PASTE_AN_INSTANCE_ID', action: 'STOP' },
  },
  {
    query: `# All your rentals. For the next page, pass endCursor as $after.
query History($first: Int, $after: String) {
  instanceHistory(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      node {
        id
        status
        gpu
        numGpus
        createdAt
        destroyedAt
        stopReason
        usage {
          gpuCost
          diskCost
          total
        }
      }
    }
  }
}`,
    variables: { first: 20, after: null },
  },
  {
    query: `# The cheapest offers as they change, until you stop it. Public.
subscription LiveOffers($gpu: String, $limit: Int) {
  offersChanged(gpu: $gpu, limit: $limit) {
    machineId
    gpu
    numGpus
    region
    pricePerHour {
      onDemand
      interruptible
    }
  }
}`,
    variables: { gpu: 'rtx-4090', limit: 5 },
  },
];
