import type { Signed } from './signing-keys.js';

export interface UnsignedRoot {
  type: 'gpu-rental/root/v1';
  /** From 1. */
  number: number;
  at: string;
  /** Number of leaves. */
  size: number;
  root: string;
  /** Hash of the previous root's document; null for number 1. */
  previous: string | null;
}

export type RootDocument = Signed<UnsignedRoot>;

export interface RootsDocument {
  type: 'gpu-rental/roots/v1';
  /** Oldest first. */
  roots: RootDocument[];
}

export interface InclusionProof {
  type: 'gpu-rental/inclusion/v1';
  pseudonym: string;
  /** Number of the link whose hash is `head`. */
  number: number;
  head: string;
  /** The leaf's index, from 0. */
  index: number;
  path: string[];
  root: RootDocument;
}

export interface ConsistencyProof {
  type: 'gpu-rental/consistency/v1';
  first: number;
  second: number;
  path: string[];
}
