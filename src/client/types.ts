import type { components, operations } from './openapi.js';

type Schemas = components['schemas'];

export type PriceSheet = Schemas['PriceSheet'];
export type GpuPricing = Schemas['GpuPrice'];
export type OfferFilter = NonNullable<operations['listOffers']['parameters']['query']>;
export type InstanceFilter = NonNullable<operations['listInstances']['parameters']['query']>;
export type OfferList = Schemas['OfferList'];
export type Offer = Schemas['Offer'];
export type ModelMemoryRequest = Schemas['ModelMemoryRequest'];
export type ModelMemory = Schemas['ModelMemory'];
export type ModelSplit = Schemas['ModelSplit'];
export type Balance = Schemas['Balance'];
export type SignedStatement = Schemas['SignedStatement'];
export type ProofDocument = Schemas['LogRoots'];
export type RootsPlace = NonNullable<operations['getLogRoots']['parameters']['query']>;
export type InstanceList = Schemas['InstanceList'];
export type Instance = Schemas['Instance'];
export type DeployRequest = Schemas['DeployRequest'];
export type MoveRequest = Schemas['MoveRequest'];
export type InstanceLaunch = Schemas['InstanceLaunch'];
export type WebToken = Schemas['WebToken'];
export type WebTokenRequest = Schemas['WebTokenRequest'];
export type InstanceAction = Schemas['ActionRequest']['action'];
export type Destroyed = Schemas['DestroyedInstance'];
export type Volume = Schemas['Volume'];
export type InstanceMetrics = Schemas['InstanceMetrics'];
export type MetricRange = NonNullable<operations['getInstanceMetrics']['parameters']['query']>;
export type Timeline = Schemas['Timeline'];
export type TimelineEntry = Schemas['TimelineEntry'];
/** Selects a page of a timeline. */
export type TimelinePlace = NonNullable<operations['getInstanceTimeline']['parameters']['query']>;
export type VolumeRelease = Schemas['VolumeRelease'];
export type VolumeList = Schemas['VolumeList'];
export type VolumeWithSnapshots = Schemas['VolumeWithSnapshots'];
export type CreateVolumeRequest = Schemas['CreateVolumeRequest'];

/** Codes that the service refuses requests with. */
export type RefusalCode = Schemas['Error']['error']['code'];
