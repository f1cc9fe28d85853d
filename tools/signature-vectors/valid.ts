import {
  agentHeader,
  at,
  body,
  digested,
  get,
  id,
  inputHeader,
  json,
  otherTag,
  post,
  replacing,
  signatureHeader,
  ucp,
  withBase,
  withoutBody,
} from './requests.ts'
import { keys, NOW, paramsOf, received, SHOP, signing } from './signing.ts'

const zero = signing({ params: `${paramsOf(keys.agent)};x=0.0;y=0;z=@0` })

/** Requests that are verified. */
export const VALID = [
  { name: 'GET', request: received(get), base: get.base, digest: 'none' },
  {
    name: 'GET with a query',
    ...withBase(at('/orders', '?id=1&q=a%20b')),
    digest: 'none',
  },
  { name: 'a lone ? is a query', ...withBase(at('/orders', '?')), digest: 'none' },
  { name: '// at the start of the path', ...withBase(at('//evil/x')), digest: 'none' },
  { name: 'a percent-encoded slash stays as it is', ...withBase(at('/a%2Fb')), digest: 'none' },
  {
    name: 'POST',
    request: received(post, { body }),
    base: post.base,
    digest: 'checked',
  },
  {
    name: 'POST whose body is not visible',
    request: withoutBody(received(post)),
    base: post.base,
    digest: 'unchecked',
  },
  {
    name: 'POST without a body covers the digest of nothing',
    ...withBase(signing({ method: 'POST', fields: [digested('')] })),
    digest: 'checked',
  },
  {
    name: 'every field that is covered if it is present',
    ...withBase(
      signing({
        method: 'PUT',
        fields: [
          digested(''),
          json,
          ['Content-Encoding', 'identity'],
          ['Idempotency-Key', '"k"'],
          ['Authorization', 'Bearer t'],
          ['Mcp-Method', 'tools/call'],
          ['Mcp-Name', 'buy'],
          id,
          ['ServiceID-Certificate', 'c'],
          ['ServiceID-Status', 's'],
        ],
      }),
    ),
    digest: 'checked',
  },
  {
    name: 'the default port is no part of the authority',
    request: received(get, { authority: 'Shop.Example:443' }),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'the target in absolute form',
    request: received(get, { target: `${SHOP}/orders` }),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'relabelled by an intermediary',
    request: replacing(
      agentHeader,
      ['Signature-Input', inputHeader[1].replace('sig1=', 'proxy=')],
      ['Signature', signatureHeader[1].replace('sig1=', 'proxy=')],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'next to a signature with another tag',
    request: replacing(
      agentHeader,
      ['Signature-Input', `other=${otherTag}, ${inputHeader[1]}`],
      ['Signature', `other=:AAAA:, ${signatureHeader[1]}`],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'names in lower case, in another order, values with white space around them',
    request: replacing(
      ['signature', `  ${signatureHeader[1]} `],
      ['signature-input', inputHeader[1]],
      ['signature-agent', agentHeader[1]],
      ['accept', '*/*'],
    ),
    base: get.base,
    digest: 'none',
  },
  {
    name: 'dictionaries over several lines',
    request: replacing(
      ['Signature-Agent', 'a="https://a.example"'],
      agentHeader,
      ['Signature-Input', `other=${otherTag}`],
      inputHeader,
      ['Signature', 'other=:AAAA:'],
      signatureHeader,
    ),
    base: get.base,
    digest: 'none',
  },
  { name: 'dialect ucp', ...withBase(ucp), digest: 'none' },
  {
    name: 'alg is ed25519',
    ...withBase(signing({ params: `${paramsOf(keys.agent)};alg="ed25519"` })),
    digest: 'none',
  },
  {
    name: 'a parameter of -0.0, which is signed as 0.0',
    request: replacing(
      agentHeader,
      ...zero.headers
        .slice(1)
        .map(([name, value]) => [name, value.replace('x=0.0', 'x=-0.0')] as const),
    ),
    base: zero.base,
    digest: 'none',
  },
  { name: '30 seconds ahead', ...withBase(signing({ created: NOW + 30 })), digest: 'none' },
  {
    name: 'expires now',
    ...withBase(signing({ created: NOW - 60 })),
    digest: 'none',
  },
]
