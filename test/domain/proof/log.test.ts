import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { adjustCredit } from '../../../src/domain/accounts/accounts.js';
import {
  appendIfDue,
  appendToLog,
  consistencyProof,
  inclusionProof,
  rootsAfter,
} from '../../../src/domain/proof/log.js';
