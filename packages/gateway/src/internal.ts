/** What the console of the service uses. Not part of the published package. */

export type { Decision, Denial } from './decision/decision.ts'
export { denialFor } from './denial.ts'
export { Gate } from './gate.ts'
export type { GatewayOptions, RegistryClient } from './options.ts'
export { POLICY_FIELDS, ROUTE_FIELDS, RULE_FIELDS } from './policy/fields.ts'
export type { Policy, PolicyInput, Rules } from './policy/policy.ts'
export { PolicyError } from './policy/policy-error.ts'
export { RouteMatcher } from './policy/route-matcher.ts'
export type { GatewayRequest } from './request/gateway-request.ts'
export { type HeaderReader, isPreflight, isSigned } from './request/headers.ts'
