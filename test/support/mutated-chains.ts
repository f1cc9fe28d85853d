import type { RawRequest } from '@countersign/protocol'
import {
  certificate,
  FIRST,
  type Hop,
  joined,
  SECOND,
  type Signer,
  THIRD,
  tokensOf,
  UNTIL,
  use,
} from '../../tools/delegation-vectors/chains.ts'
import { NOW, SHOP } from '../../tools/signature-vectors/signing.ts'
import { Mutator } from './differential-cases.ts'
import { ODD_ADDRESSES, ODD_JSON } from './odd-inputs.ts'

/** A request with a chain of delegations. Most parts of it are as they should be, and all signatures are those of the keys that it names. */
export interface ChainCase {
  readonly kind: 'chain'
  readonly request: Omit<RawRequest, 'body'> & { readonly body?: string | null }
}

const KEYS: readonly Signer[] = [FIRST, SECOND, THIRD]
const words = (text: string) => text.trim().split(/\s+/)
const ORIGINS = [SHOP, SHOP, 'https://other.example', 'http://localhost:8080', ...ODD_ADDRESSES]
const METHODS = ['GET', 'GET', 'POST', 'HEAD', ...words('get G€T A-B GET1'), 'GET POST', '']
const PATHS = [
  ...words(`
    /orders /orders /orders/* /orders/* /* / /Orders /orders/ /orders/1 /orders/caf%C3%A9 /orders/a%20b /orders/*/x /orders*
    /orders/.. /orders/./a /orders//a /orders/%2e /orders/%2F /orders/%C0%AF /orders/%ED%A0%80 /orders/%c3%a9 /orders/a;b
    /orders/a%3Cb /orders/a&b /orders/a<b /orders/{a} /orders/é /orders/%41 /orders/a'b * /** //a /a#b /a?b
  `),
  ...['/a"b', '/a\\b', '', '/\u017f', `/${'a'.repeat(127)}`, `/${'a'.repeat(128)}`],
]
const CALLS = [
  ...words('tools/list tools/list tools/call prompts/get a/b-c_d tools1 é'),
  ...['tools/call search', 'tools/call &<>', 'tools/call a b', 'tools/call ', ' a', 'a  b', ''],
]
const TIMES = [
  0,
  1,
  NOW - 86_400,
  NOW - 60,
  NOW,
  NOW + 60,
  NOW + 61,
  UNTIL,
  UNTIL + 1,
  NOW + 85_800,
]
const DEPTHS = [0, 1, 2, 3, 4, -1, 1.5, '1', null, true]
const HEADERS = [
  ...words(
    'X-HTTP-Method-Override X_HTTP_Method X-Original-URL Xhttp-Method X-Rewrite-Url Y-HTTP-Method',
  ),
].map((name) => [name, 'POST'] as const)

/** @param count of cases */
export function chainCases(seed: number, count: number): readonly ChainCase[] {
  const mutator = new Mutator(seed)
  return Array.from({ length: count }, () => ({ kind: 'chain', request: requestCase(mutator) }))
}

function requestCase(mutator: Mutator): ChainCase['request'] {
  const depth = mutator.pick([1, 1, 2, 3])
  const limits = limitsIn(mutator)
  const hops = Array.from({ length: depth }, () => hopCase(mutator, limits))
  let tokens = tokensOf(rootCase(mutator), hops)
  if (mutator.chance(0.03)) tokens = tokens.filter((_, at) => at !== 1 || mutator.chance(0.5))
  const chain = mutator.chance(0.06) ? mutator.text(joined(tokens)) : joined(tokens)
  const by = mutator.chance(0.95) ? KEYS[depth - 1] : mutator.pick(KEYS)
  const isCall = mutator.chance(0.3)
  const fields = [
    ...(isCall ? [['Mcp-Method', mutator.pick(CALLS)] as const] : []),
    ...(isCall && mutator.chance(0.3)
      ? [['Mcp-Name', mutator.pick(['search', '&<>'])] as const]
      : []),
    ...(mutator.chance(0.1) ? [mutator.pick(HEADERS)] : []),
  ]
  const isAscii = /^[\x20-\x7e]*$/.test(chain)
  return use(isAscii ? chain : joined(tokens), {
    by: by as Signer,
    method: mutator.chance(0.8) ? 'GET' : mutator.pick(['HEAD', 'GE', 'get']),
    path: mutator.chance(0.6) ? '/orders' : mutator.pick(PATHS.filter(isSendable)),
    fields: fields.filter(([, value]) => /^[\x21-\x7e][\x20-\x7e]*$/.test(value)),
  })
}

/** What a client can send as a path. */
function isSendable(path: string): boolean {
  return /^\/[\x21-\x7e]*$/.test(path) && !/[?#"\\]/.test(path)
}

function rootCase(mutator: Mutator): string {
  if (mutator.chance(0.85)) return certificate()
  return certificate({
    claims: {
      ...mutator.pick([
        { maxDelegationDepth: mutator.pick(DEPTHS) },
        { exp: mutator.pick([...TIMES, NOW + 0.5, 1e15, 1e300, '1', null]) },
        { sub: mutator.pick(['svc:agent:8Xk2mPqR9sTvWyZaBcDeFgHj', '', 1]) },
      ]),
    },
  })
}

interface Limits {
  origins?: unknown
  methods?: unknown
  paths?: unknown
  mcp?: unknown
}

/** Mostly such limits as the request is within. */
function limitsIn(mutator: Mutator): Limits {
  return {
    origins: [SHOP],
    ...(mutator.chance(0.4) && { methods: ['GET', 'HEAD'] }),
    ...(mutator.chance(0.4) && { paths: ['/orders', '/orders/*'] }),
    ...(mutator.chance(0.2) && { mcp: ['tools/list', 'tools/call', 'tools/call search'] }),
  }
}

function hopCase(mutator: Mutator, limits: Limits): Hop {
  const odd: readonly (() => Hop)[] = [
    () => ({ iat: mutator.pick([...TIMES, 1e11, 1.5, '1', null]) }),
    () => ({ exp: mutator.pick([...TIMES, 1e11, 1.5, '1', null]) }),
    () => ({ maxDepth: mutator.pick(DEPTHS) }),
    () => ({ to: mutator.pick(KEYS) }),
    () => ({ by: mutator.pick(KEYS) }),
    () => ({
      nonce: mutator.pick(['A'.repeat(22), 'A'.repeat(21), '-'.repeat(128), 'A'.repeat(129)]),
    }),
    () => ({ exp: mutator.pick([NOW - 1, NOW, NOW + 1]) }),
    () => ({ payload: changed(mutator) }),
    () => ({ limits: changedLimits(mutator, limits) }),
    () => ({ limits: changedLimits(mutator, limits) }),
    () => ({ limits: changedLimits(mutator, limits) }),
  ]
  return mutator.chance(0.65) ? { limits } : { limits, ...mutator.pick(odd)() }
}

function changedLimits(mutator: Mutator, limits: Limits): Limits {
  const some = (values: readonly string[], most: number) =>
    Array.from({ length: 1 + mutator.below(mutator.chance(0.9) ? 3 : most + 1) }, () =>
      mutator.pick(values),
    )
  const [name, value] = mutator.pick([
    ['origins', some(ORIGINS, 8)],
    ['methods', some(METHODS, 8)],
    ['paths', some(PATHS, 8)],
    ['paths', some(PATHS, 8)],
    ['mcp', some(CALLS, 16)],
    [
      mutator.pick(['origins', 'methods', 'paths', 'mcp']),
      mutator.pick([undefined, null, [], {}, 'GET', [1]]),
    ],
    [mutator.pick(['name', '__proto__x']), ['a']],
  ] as const)
  return { ...limits, [name]: value }
}

/** Changes the text of a payload: a character, or a value of a member. */
function changed(mutator: Mutator): (text: string) => string {
  return (text) => {
    const member = mutator.pick([...text.matchAll(/"(\w+)":("[^"]*"|\d+)/g)])
    const value = mutator.pick(ODD_JSON)
    const result = mutator.chance(0.5)
      ? mutator.text(text)
      : text.replace(String(member[0]), () => `"${member[1]}":${value}`)
    return result === text ? ` ${text}` : result
  }
}
