export {
  agentSignIn,
  assertContentDigest,
  memoryNonceStore,
  type NonceStore,
  Registry,
} from '@countersign/sdk'
export type {
  Action,
  Decision,
  Delegate,
  Proof,
  Refusal,
  Refused,
  RequestSignature,
} from './decision/decision.ts'
export type { Reason, ReasonCode } from './decision/reasons.ts'
export type {
  AgentSessionData,
  Closeable,
  DecidedRequest,
  FeedFault,
  GatewayOptions,
  RegistryClient,
  SessionReader,
} from './options.ts'
export type {
  Level,
  LevelAction,
  Limit,
  Mode,
  Policy,
  PolicyInput,
  PolicyIssuer,
  RefusalResponse,
  Route,
  Rules,
  WhenUnreachable,
} from './policy/policy.ts'
export { PolicyError } from './policy/policy-error.ts'
export {
  type RedisClient,
  type RedisNonceStoreOptions,
  redisNonceStore,
} from './redis-nonce-store.ts'
