import {
  POLICY_FIELDS,
  type PolicyInput,
  ROUTE_FIELDS,
  RULE_FIELDS,
} from '@countersign/gateway/internal'
import { formatJson } from './format-literal.ts'

/** A field that a policy or one of its routes can have. */
export interface PolicyField {
  readonly name: string
  /** JSON. */
  readonly example: string
  /** Sentences with marks of code (`). */
  readonly description: string
  readonly isRoute: boolean
}

/** Values that differ from the default, since nobody has to write that. */
const EXAMPLES: PolicyInput = {
  levels: { none: 'allow' },
  statuses: ['active', 'suspended'],
  minimumGrade: 'B',
  minimumKeyAgeSeconds: 259_200,
  minimumOwnerAgeSeconds: 604_800,
  identityMethods: ['eid'],
  delegation: { maxDepth: 1, maxSeconds: 600 },
  approval: { maxAgeSeconds: 300 },
  requireProof: true,
  refusal: { status: 402, message: 'Sign the request.' },
  unreachable: 'stale',
  maxStaleSeconds: 60,
  mode: 'shadow',
  limit: { requests: 10, seconds: 60 },
  cacheSeconds: 1,
  preflight: 'decide',
  directories: [{ url: 'https://bots.example', profile: 'wba' }],
  routes: [{ path: '/orders/*', methods: ['POST'], requireProof: true }],
}
const ROUTE_EXAMPLES = { path: '/orders/*', methods: ['POST'] }

const ROUTES = {
  defaultValue: [],
  description:
    'Rules for some paths and methods. The first route that matches applies; what it omits is as in the rest of the policy',
}

/** All fields, for completion and reference: those that most policies have first. */
export const FIELDS: readonly PolicyField[] = [
  ...fieldsOf({ mode: POLICY_FIELDS.mode, requireProof: RULE_FIELDS.requireProof }, EXAMPLES),
  ...fieldsOf({ routes: ROUTES, ...RULE_FIELDS, ...POLICY_FIELDS }, EXAMPLES),
  ...fieldsOf(ROUTE_FIELDS, ROUTE_EXAMPLES, true),
].filter(({ name }, i, all) => all.findIndex((each) => each.name === name) === i)

function fieldsOf(
  fields: Readonly<
    Record<string, { readonly defaultValue: unknown; readonly description: string }>
  >,
  examples: Readonly<Record<string, unknown>>,
  isRoute = false,
): PolicyField[] {
  return Object.entries(fields).map(([name, { defaultValue, description }]) => ({
    name,
    example: formatJson(examples[name] ?? defaultValue),
    description: `${description.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')}.`,
    isRoute,
  }))
}
