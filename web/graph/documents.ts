import { graphql } from './graphql.js';

export const PriceSheet = graphql(`
  query PriceSheet {
    pricing {
      marketSnapshot
      diskPricePerGbHour
      data {
        slug
        name
        vramGb
        tier
        pricePerGpuHour {
          onDemand
          interruptible
          reserved
        }
        marketMedian
        listings
        availableGpus
        gpuModel {
          memoryBandwidth
        }
      }
    }
    regions {
      code
      name
      country
      latitude
      longitude
    }
  }
`);

/** Fetches the regions with free GPUs. */
export const FreeByRegion = graphql(`
  query FreeByRegion {
    offerSearch(first: 1) {
      totalCount
      regions {
        region
        gpus
      }
    }
  }
`);

/** Fetches the models' prices over the last half year. */
export const PriceTrends = graphql(`
  query PriceTrends {
    pricing {
      trends {
        gpu
        onDemand
      }
    }
  }
`);

/** Follows the parts of the price sheet that change hourly. */
export const PricingChanged = graphql(`
  subscription PricingChanged {
    pricingChanged {
      marketSnapshot
      data {
        slug
        availableGpus
      }
    }
  }
`);

export const PriceHistory = graphql(`
  query PriceHistory($slug: ID!) {
    gpuModel(slug: $slug) {
      slug
      priceHistory {
        snapshot
        onDemand
        listings
      }
    }
  }
`);

const OfferRow = graphql(`
  fragment OfferRow on Offer {
    machineId
    gpu
    numGpus
    region
    cpu
    vcpus
    ramGb
    diskGb
    netMbps {
      down
      up
    }
    nvlink
    pcie
    cudaMax
    reliability
    demo
    hasAgent
    fuse
    preemptible
    pricePerHour {
      onDemand
      interruptible
      reserved
    }
  }
`);

export const OfferSearch = graphql(
  `
  query OfferSearch($filter: OfferFilterInput, $sort: OfferSort, $first: Int, $after: String) {
    offerSearch(filter: $filter, sort: $sort, first: $first, after: $after) {
      totalCount
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        node {
          ...OfferRow
        }
      }
    }
  }
`,
  [OfferRow],
);

const Cheapest = graphql(`
  fragment Cheapest on OfferConnection {
    totalCount
    edges {
      node {
        pricePerHour {
          onDemand
          interruptible
          reserved
        }
      }
    }
  }
`);

/**
 * Counts matching machines with and without a host agent, and all on the market that have one. Also reads the lowest
 * price of the matching ones.
 */
export const MachineKinds = graphql(
  `
  query MachineKinds($running: OfferFilterInput, $agentless: OfferFilterInput) {
    running: offerSearch(filter: $running, sort: PRICE, first: 1) {
      ...Cheapest
    }
    agentless: offerSearch(filter: $agentless, sort: PRICE, first: 1) {
      ...Cheapest
    }
    market: offerSearch(filter: { hasAgent: true, includePreemptible: true }, first: 1) {
      totalCount
    }
  }
`,
  [Cheapest],
);

/** Counts the market's machines that run containers. */
export const RunningMachines = graphql(`
  query RunningMachines {
    offerSearch(filter: { hasAgent: true, includePreemptible: true }, first: 1) {
      totalCount
    }
  }
`);

/** Fetches one machine for the comparison view. */
export const OneOffer = graphql(
  `
  query OneOffer($machineId: ID!) {
    offer(machineId: $machineId) {
      ...OfferRow
    }
  }
`,
  [OfferRow],
);

const FirstOffer = graphql(
  `
  fragment FirstOffer on OfferConnection {
    edges {
      node {
        ...OfferRow
      }
    }
  }
`,
  [OfferRow],
);

/** The cheapest matching machine of each of six models. */
export const PopularOffers = graphql(
  `
  query PopularOffers(
    $a: OfferFilterInput
    $b: OfferFilterInput
    $c: OfferFilterInput
    $d: OfferFilterInput
    $e: OfferFilterInput
    $f: OfferFilterInput
  ) {
    a: offerSearch(filter: $a, first: 1) {
      ...FirstOffer
    }
    b: offerSearch(filter: $b, first: 1) {
      ...FirstOffer
    }
    c: offerSearch(filter: $c, first: 1) {
      ...FirstOffer
    }
    d: offerSearch(filter: $d, first: 1) {
      ...FirstOffer
    }
    e: offerSearch(filter: $e, first: 1) {
      ...FirstOffer
    }
    f: offerSearch(filter: $f, first: 1) {
      ...FirstOffer
    }
  }
`,
  [FirstOffer],
);

/** Counts each model's GPUs that meet requirements not covered by the price sheet. */
export const MatchingGpus = graphql(`
  query MatchingGpus($filter: OfferFilterInput) {
    offerSearch(filter: $filter, first: 1) {
      models {
        gpu
        gpus
      }
    }
  }
`);

export const Secrets = graphql(`
  query Secrets {
    secrets {
      name
      kind
      registry
      username
      createdAt
    }
  }
`);

export const CreateSecret = graphql(`
  mutation CreateSecret($input: SecretInput!) {
    createSecret(input: $input) {
      name
    }
  }
`);

export const DeleteSecret = graphql(`
  mutation DeleteSecret($name: String!) {
    deleteSecret(name: $name) {
      name
    }
  }
`);

export const Volumes = graphql(`
  query Volumes {
    volumes {
      id
      name
      sizeGb
      priceHr
      createdAt
      inUseBy
      storedBytes
      lastSnapshotAt
    }
    pricing {
      volumePricePerGbHour
    }
  }
`);

export const VolumeSnapshots = graphql(`
  query VolumeSnapshots($id: ID!) {
    volume(id: $id) {
      snapshots {
        id
        at
        sizeBytes
        instanceId
      }
    }
  }
`);

export const VolumePassword = graphql(`
  query VolumePassword($id: ID!) {
    volumePassword(id: $id)
  }
`);

export const CreateVolume = graphql(`
  mutation CreateVolume($input: CreateVolumeInput!) {
    createVolume(input: $input) {
      id
    }
  }
`);

export const GrowVolume = graphql(`
  mutation GrowVolume($id: ID!, $sizeGb: Int!, $idempotencyKey: String) {
    growVolume(id: $id, sizeGb: $sizeGb, idempotencyKey: $idempotencyKey) {
      id
    }
  }
`);

export const DeleteVolume = graphql(`
  mutation DeleteVolume($id: ID!, $idempotencyKey: String) {
    deleteVolume(id: $id, idempotencyKey: $idempotencyKey) {
      id
    }
  }
`);

export const Templates = graphql(`
  query Templates {
    templates {
      slug
      title
      category
      picture
      vramGb
      description
      variables {
        name
        description
        default
        required
        secret
        isGenerated
      }
    }
  }
`);

const LaunchFields = graphql(`
  fragment LaunchFields on Launch {
    name
    env
    secrets {
      secret
      variable
      file
    }
    entrypoint
    command
    ports {
      port
      name
    }
    tcpPorts
    registryLogin
    user
    restart
    onExit
  }
`);

export const MyTemplates = graphql(
  `
  query MyTemplates {
    myTemplates {
      name
      description
      template
      diskGb
      link
      launch {
        ...LaunchFields
      }
    }
  }
`,
  [LaunchFields],
);

export const SaveTemplate = graphql(`
  mutation SaveTemplate($input: SavedTemplateInput!) {
    saveTemplate(input: $input) {
      name
    }
  }
`);

export const DeleteTemplate = graphql(`
  mutation DeleteTemplate($name: String!) {
    deleteTemplate(name: $name) {
      name
    }
  }
`);

export const SetDeadlines = graphql(`
  mutation SetDeadlines($id: ID!, $stopAt: String, $destroyAt: String) {
    setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) {
      id
    }
  }
`);

export const SetStopWhenIdle = graphql(`
  mutation SetStopWhenIdle($id: ID!, $minutes: Int) {
    setStopWhenIdle(id: $id, stopWhenIdle: $minutes) {
      id
    }
  }
`);

export const InstanceLinks = graphql(`
  query InstanceLinks($id: ID!) {
    instanceLinks(id: $id) {
      links {
        name
        port
        path
      }
      tokens {
        variable
        value
        inLink
      }
    }
  }
`);

/** Fetches the names of the instances' services, so that a list can open the first one. */
export const InstanceServices = graphql(`
  query InstanceServices {
    instances {
      id
      ports {
        name
      }
    }
  }
`);

export const Quote = graphql(`
  query Quote($input: QuoteInput!) {
    quote(input: $input) {
      machineId
      machine {
        gpu
        numGpus
        region
      }
      mode
      diskGb
      freeDiskGb
      priceHr
      diskPriceHr
      totalPriceHr
      coverNeeded
      preempts
      preemptedInstances
      minimumGpuSeconds
      minimumCost
      reserved {
        until
        onDemandPriceHr
        discountHr
      }
      refusal {
        code
        message
      }
      account {
        balance
        burnPerHour
        coverNeeded
        hoursLeft
        exhaustsAt
      }
      asOf
    }
  }
`);

const InstanceFields = graphql(`
  fragment InstanceFields on Instance {
    id
    name
    labels
    status
    gpu
    numGpus
    region
    template
    mode
    diskGb
    priceHr
    diskPriceHr
    hostname
    createdAt
    runningSince
    stoppedAt
    destroyedAt
    stopReason
    reservedUntil
    earlyExitCost
    asOf
    usage {
      gpuSeconds
      diskSeconds
      gpuCost
      diskCost
      earlyExitCost
      total
    }
    runtime {
      phase
      pulledBytes
      totalBytes
      message
      exitCode
      restarts
      reachable
    }
  }
`);

const AccountFields = graphql(`
  fragment AccountFields on Account {
    asOf
    balance
    burnPerHour
    monthSpend
    exhaustsAt
    diskDeleteAt
  }
`);

/** Fetches all amounts on which the page's projections are based. */
export const Settle = graphql(
  `
  query Settle {
    account {
      ...AccountFields
    }
    instances {
      ...InstanceFields
    }
  }
`,
  [AccountFields, InstanceFields],
);

/** Fetches the home screen's data, except for the amounts and the instances' state. */
export const Home = graphql(`
  query Home {
    account {
      id
      lifetimeSpend
      monthlyLimit
      limitReachedAt
    }
    instances {
      id
      stopAt
      destroyAt
      limitReachedAt
      volumes {
        holdsLease
        lostSince
        lastSnapshotAt
        message
        volume {
          name
          deletedAt
        }
      }
    }
    instanceHistory(first: 1) {
      edges {
        node {
          id
        }
      }
    }
    sshKeys {
      id
    }
    volumes {
      id
      sizeGb
      priceHr
    }
    topUpAssets {
      code
    }
  }
`);

/** Fetches the spend by day for the Home screen. */
export const RecentDays = graphql(`
  query RecentDays($from: Date!) {
    spendByDay(from: $from, limit: 1) {
      from
      to
      total
      days {
        date
        total
      }
    }
  }
`);

/** Follows everything that the page shows about an account, in a single stream. */
export const AccountChanged = graphql(
  `
  subscription AccountChanged {
    accountChanged {
      account {
        ...AccountFields
      }
      instances {
        ...InstanceFields
      }
      topUps {
        id
      }
      loads {
        instanceId
        load {
          at
          cpuPercent
          gpus {
            busyPercent
          }
        }
      }
    }
  }
`,
  [AccountFields, InstanceFields],
);

/** Fetches the newest samples of all instances, which events only report once there are newer ones. */
export const Loads = graphql(`
  query Loads {
    instances {
      id
      load {
        at
        cpuPercent
        gpus {
          busyPercent
        }
      }
    }
  }
`);

/** Fetches how much of its disk an instance uses. */
export const DiskUse = graphql(`
  query DiskUse($id: ID!) {
    instance(id: $id) {
      load {
        diskUsedBytes
      }
    }
  }
`);

/** Fetches an instance's metrics for its charts. */
export const InstanceMetrics = graphql(`
  query InstanceMetrics($id: ID!, $from: String, $points: Int) {
    instance(id: $id) {
      metrics(from: $from, points: $points) {
        stepSeconds
        points {
          at
          cpuPercent
          memoryUsedBytes
          diskUsedBytes
          networkInBytesPerSecond
          networkOutBytesPerSecond
          gpus {
            place
            busyPercent
            busyMaxPercent
            memoryUsedMb
            memoryTotalMb
            powerWatts
            celsius
          }
        }
      }
    }
  }
`);

export const OneInstance = graphql(
  `
  query OneInstance($id: ID!) {
    instance(id: $id) {
      ...InstanceFields
      stopAt
      destroyAt
      spendLimit
      limitReachedAt
      stopWhenIdle
      launch {
        ...LaunchFields
      }
      machine {
        id
        cpu
        vcpus
        ramGb
        demo
      }
      ssh {
        command
        rootCommand
      }
      ports {
        port
        open
        url
      }
      tcpPorts {
        port
        host
        publicPort
      }
      volumes {
        id
        path
        holdsLease
        saved
        lastSnapshotAt
        lostSince
        message
        volume {
          name
          sizeGb
          deletedAt
        }
      }
      canStart {
        allowed
        preempts
        minimumGpuSeconds
        coverNeeded
        refusal {
          message
        }
      }
    }
  }
`,
  [InstanceFields, LaunchFields],
);

export const SetLabels = graphql(
  `
  mutation SetLabels($id: ID!, $labels: Labels, $remove: [String!]) {
    setLabels(id: $id, labels: $labels, remove: $remove) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

/** Fetches an instance's events, newest first. */
export const InstanceTimeline = graphql(`
  query InstanceTimeline($id: ID!, $first: Int, $after: String) {
    instance(id: $id) {
      timeline(first: $first, after: $after) {
        pageInfo {
          hasNextPage
        }
        edges {
          cursor
          node {
            at
            kind
            ratePerHour
            amount
            seconds
            stopReason
            creditReason
            hostFault
            volumeName
            sizeBytes
            asked {
              operation
              targets
              keyId
              byConsole
              address
              code
              times
            }
          }
        }
      }
    }
  }
`);

/** Fetches the names of the account's keys, to show which one was used for a request. */
export const KeyNames = graphql(`
  query KeyNames {
    apiKeys {
      id
      name
      lastFour
      isCurrent
    }
  }
`);

export const MoveInstance = graphql(
  `
  mutation MoveInstance($id: ID!, $maxPricePerHour: Float, $idempotencyKey: String!) {
    moveInstance(id: $id, maxPricePerHour: $maxPricePerHour, idempotencyKey: $idempotencyKey) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

export const ReleaseVolume = graphql(`
  mutation ReleaseVolume($id: ID!) {
    releaseVolume(id: $id) {
      lostSince
    }
  }
`);

export const WebLink = graphql(`
  mutation WebLink($id: ID!, $port: Int, $path: String) {
    webLink(id: $id, port: $port, path: $path) {
      url
    }
  }
`);

export const InstanceLogged = graphql(`
  subscription InstanceLogged($id: ID!, $tail: Int!) {
    instanceLogged(id: $id, tail: $tail) {
      time
      stream
      text
      isPartial
    }
  }
`);

/** Finds the outcome of a request whose response was lost. */
export const InstanceByIdempotencyKey = graphql(
  `
  query InstanceByIdempotencyKey($idempotencyKey: String!) {
    instanceByIdempotencyKey(idempotencyKey: $idempotencyKey) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

export const InstanceHistory = graphql(
  `
  query InstanceHistory($filter: InstanceFilterInput, $first: Int, $after: String) {
    instanceHistory(filter: $filter, first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        node {
          ...InstanceFields
        }
      }
    }
  }
`,
  [InstanceFields],
);

export const Deploy = graphql(
  `
  mutation Deploy($input: DeployInput!) {
    deploy(input: $input) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

export const DeployBest = graphql(
  `
  mutation DeployBest($input: DeployBestInput!) {
    deployBest(input: $input) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

export const Act = graphql(
  `
  mutation Act($id: ID!, $action: InstanceActionKind!, $idempotencyKey: String) {
    action(id: $id, action: $action, idempotencyKey: $idempotencyKey) {
      ...InstanceFields
    }
  }
`,
  [InstanceFields],
);

/**
 * Fetches everything on the Billing screen in a single query, so that the service computes all of it for the same
 * second.
 */
export const Money = graphql(
  `
  query Money(
    $first: Date!
    $last: Date
    $names: Int
    $from: DateTime!
    $to: DateTime
    $firstStated: Date!
    $lastStated: Date!
  ) {
    account {
      ...AccountFields
      id
      monthlyLimit
      limitReachedAt
    }
    volumes {
      id
      name
    }
    balanceNotice
    billingDetails {
      name
      address
      reference
    }
    instances {
      id
      name
      gpu
      status
      priceHr
      diskPriceHr
    }
    spend: spendByDay(from: $first, to: $last, limit: $names) {
      from
      to
      total
      volumes
      days {
        date
        total
        instances {
          instanceId
          amount
        }
      }
      instances {
        instanceId
        gpu
      }
      models {
        gpu
        amount
      }
      names {
        name
        amount
      }
    }
    stated: spendByDay(from: $firstStated, to: $lastStated, limit: $names) {
      instances {
        instanceId
        name
        template
      }
    }
    statement(from: $from, to: $to) {
      from
      to
      openingBalance
      closingBalance
      lines {
        instanceId
        volumeId
        kind
        ratePerHour
        seconds
        from
        to
        amount
        units
      }
      movements {
        at
        kind
        amount
        note
        reference
        instanceId
      }
    }
  }
`,
  [AccountFields],
);

const TopUpFields = graphql(`
  fragment TopUpFields on TopUp {
    id
    state
    coin
    network
    amount
    address
    uri
    usd
    credited
    createdAt
    expiresAt
    confirmations
    confirmationsNeeded
  }
`);

export const TopUps = graphql(
  `
  query TopUps {
    topUpAssets {
      code
      coin
      network
      minimum
      confirmations
    }
    topUps(limit: 10) {
      ...TopUpFields
    }
  }
`,
  [TopUpFields],
);

export const CreateTopUp = graphql(
  `
  mutation CreateTopUp($input: CreateTopUpInput!) {
    createTopUp(input: $input) {
      ...TopUpFields
    }
  }
`,
  [TopUpFields],
);

export const ApiKeys = graphql(`
  query ApiKeys {
    apiKeys {
      id
      name
      prefix
      lastFour
      createdAt
      lastUsedAt
      revokedAt
      isCurrent
      scopes
      networks
      expiresAt
      monthlyLimit
      monthSpend
      limitReachedAt
    }
  }
`);

export const Activity = graphql(`
  query Activity($filter: ActivityFilterInput, $first: Int, $after: String) {
    activity(filter: $filter, first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        node {
          at
          operation
          targets
          keyId
          byConsole
          address
          code
          times
        }
      }
    }
  }
`);

/** Fetches the names of objects that activity refers to by id. */
export const SubjectNames = graphql(`
  query SubjectNames {
    volumes {
      id
      name
    }
    webhooks {
      id
      url
    }
    sshKeys {
      id
      comment
      fingerprint
    }
  }
`);

export const CreateApiKey = graphql(`
  mutation CreateApiKey(
    $name: String
    $scopes: [KeyScope!]
    $expiresAt: String
    $networks: [String!]
    $monthlyLimit: Float
    $idempotencyKey: String
  ) {
    createApiKey(
      name: $name
      scopes: $scopes
      expiresAt: $expiresAt
      networks: $networks
      monthlyLimit: $monthlyLimit
      idempotencyKey: $idempotencyKey
    ) {
      secret
    }
  }
`);

export const RevokeApiKey = graphql(`
  mutation RevokeApiKey($id: ID!) {
    revokeApiKey(id: $id) {
      id
    }
  }
`);

export const Passkeys = graphql(`
  query Passkeys {
    passkeys {
      id
      name
      keyId
      host
      isCurrent
      createdAt
      lastUsedAt
    }
  }
`);

export const RevokePasskey = graphql(`
  mutation RevokePasskey($id: ID!) {
    revokePasskey(id: $id) {
      id
    }
  }
`);

export const SshKeys = graphql(`
  query SshKeys {
    sshKeys {
      id
      type
      fingerprint
      comment
      publicKey
      instanceId
      createdAt
    }
  }
`);

export const AddSshKey = graphql(`
  mutation AddSshKey($publicKey: String!, $instanceId: ID) {
    addSshKey(publicKey: $publicKey, instanceId: $instanceId) {
      id
    }
  }
`);

export const RemoveSshKey = graphql(`
  mutation RemoveSshKey($id: ID!) {
    removeSshKey(id: $id) {
      id
    }
  }
`);

export const Notifications = graphql(`
  query Notifications {
    balanceNotice
    sendsMail
    mailAddress {
      address
      events
      confirmedAt
      confirmBy
      pausedAt
      pauseReason
      waiting
      attempts(first: 1) {
        at
        error
      }
    }
    webhooks {
      id
      url
      events
      pausedAt
      pauseReason
      waiting
      deliveries(first: 50) {
        eventId
        eventType
        eventAt
        subject
        state
        nextAt
      }
      attempts(first: 100) {
        at
        number
        status
        error
        tookMs
        eventId
      }
    }
  }
`);

export const CreateWebhook = graphql(`
  mutation CreateWebhook($url: String!) {
    createWebhook(url: $url) {
      secret
    }
  }
`);

export const ChangeWebhook = graphql(`
  mutation ChangeWebhook($id: ID!, $url: String, $events: [String!], $paused: Boolean) {
    changeWebhook(id: $id, url: $url, events: $events, paused: $paused) {
      id
    }
  }
`);

export const RotateWebhookSecret = graphql(`
  mutation RotateWebhookSecret($id: ID!) {
    rotateWebhookSecret(id: $id) {
      secret
    }
  }
`);

export const DeleteWebhook = graphql(`
  mutation DeleteWebhook($id: ID!) {
    deleteWebhook(id: $id) {
      id
    }
  }
`);

export const TestWebhook = graphql(`
  mutation TestWebhook($id: ID!) {
    testWebhook(id: $id) {
      id
    }
  }
`);

export const Redeliver = graphql(`
  mutation Redeliver($id: ID!, $eventId: ID!) {
    redeliver(id: $id, eventId: $eventId) {
      id
    }
  }
`);

export const SignedStatement = graphql(`
  query SignedStatement($month: String!) {
    signedStatement(month: $month)
  }
`);

export const FocusExport = graphql(`
  query FocusExport($month: String!) {
    focusExport(month: $month)
  }
`);

export const Invoice = graphql(`
  query Invoice($month: String!) {
    invoice(month: $month) {
      number
      html
    }
  }
`);

export const SetBillingDetails = graphql(`
  mutation SetBillingDetails($name: String, $address: String, $reference: String) {
    setBillingDetails(name: $name, address: $address, reference: $reference) {
      name
    }
  }
`);

export const SetBalanceNotice = graphql(`
  mutation SetBalanceNotice($below: USD) {
    setBalanceNotice(below: $below)
  }
`);

export const SetMonthlyLimit = graphql(`
  mutation SetMonthlyLimit($monthlyLimit: Float) {
    setMonthlyLimit(monthlyLimit: $monthlyLimit) {
      id
    }
  }
`);

export const SetApiKeyLimit = graphql(`
  mutation SetApiKeyLimit($id: ID!, $monthlyLimit: Float) {
    setApiKeyLimit(id: $id, monthlyLimit: $monthlyLimit) {
      id
    }
  }
`);

export const SetSpendLimit = graphql(`
  mutation SetSpendLimit($id: ID!, $spendLimit: Float) {
    setSpendLimit(id: $id, spendLimit: $spendLimit) {
      id
    }
  }
`);

export const SetMailAddress = graphql(`
  mutation SetMailAddress($address: String!, $events: [String!]) {
    setMailAddress(address: $address, events: $events) {
      address
    }
  }
`);

export const DeleteMailAddress = graphql(`
  mutation DeleteMailAddress {
    deleteMailAddress
  }
`);

export const TestMailAddress = graphql(`
  mutation TestMailAddress {
    testMailAddress {
      address
    }
  }
`);

/** Fetches the host of the hub from which the service reads models. */
export const ModelHub = graphql(`
  query ModelHub {
    modelHub
  }
`);

/** Fetches the memory that a language model needs. */
export const ModelMemory = graphql(`
  query ModelMemory(
    $model: String
    $config: String
    $contextLength: Int
    $concurrency: Int
    $parametersInBillions: Float
    $weightBits: Int
  ) {
    modelMemory(
      model: $model
      config: $config
      contextLength: $contextLength
      concurrency: $concurrency
      parametersInBillions: $parametersInBillions
      weightBits: $weightBits
    ) {
      model
      architecture
      parameters
      weightBits
      weightsFrom
      contextLength
      maxContextLength
      concurrency
      diskGb
      gpus
      splits {
        gpus
        vramGbMin
        weightBytesPerGpu
        kvBytesPerGpu
        overheadBytesPerGpu
      }
    }
  }
`);
