import {
  APPROVED_BY,
  DEFAULT_APPROVAL,
  MAX_DELEGATION_SECONDS,
  MAX_HOPS,
} from '@countersign/protocol'
import type { ApprovalPolicy, DelegationPolicy } from '@countersign/sdk'
import {
  boolean,
  integerBetween,
  listOf,
  oneOf,
  type ReadContext,
  type Reader,
  record,
} from './readers.ts'

/** `delegation` */
export const delegation: Reader<DelegationPolicy> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { maxDepth, maxSeconds, mcp } = {
      ...DELEGATION,
      ...record(value, place, Object.keys(DELEGATION), context),
    }
    return {
      maxDepth: integerBetween(1, MAX_HOPS)(maxDepth, `${place}.maxDepth`, context),
      maxSeconds: integerBetween(1, MAX_DELEGATION_SECONDS)(
        maxSeconds,
        `${place}.maxSeconds`,
        context,
      ),
      mcp: boolean(mcp, `${place}.mcp`, context),
    } as DelegationPolicy
  },
  {
    accepts:
      'an object with `maxDepth` (1 to 3), `maxSeconds` (1 to 86400), `mcp` (`true` or `false`) or none of them',
  },
)

const DELEGATION: DelegationPolicy = { maxDepth: 1, maxSeconds: 3600, mcp: false }

const method = oneOf(...APPROVED_BY)

/** `approval` */
export const approval: Reader<ApprovalPolicy> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { maxAgeSeconds, by, bodyCheckedByApplication } = {
      ...DEFAULT_APPROVAL,
      ...record(value, place, Object.keys(DEFAULT_APPROVAL), context),
    }
    return {
      maxAgeSeconds: integerBetween(60, 3600)(maxAgeSeconds, `${place}.maxAgeSeconds`, context),
      by: listOf(method, `a list of ${method.accepts}`, 1)(by, `${place}.by`, context),
      bodyCheckedByApplication: boolean(
        bodyCheckedByApplication,
        `${place}.bodyCheckedByApplication`,
        context,
      ),
    } as ApprovalPolicy
  },
  {
    accepts:
      'an object with `maxAgeSeconds` (60 to 3600), `by` (a list of `passkey` or `mandate`), `bodyCheckedByApplication` (`true` or `false`) or none of them',
  },
)
