import { at, get, withHeaders } from './requests.ts'
import { received, signing } from './signing.ts'

/** Requests that were sent somewhere else, or in another form. */
export const RECEIVED_ELSEWHERE = [
  {
    name: 'foreign Host',
    why: 'a site forwards to us what was signed for itself',
    reason: 'authority',
    request: received(signing({ authority: 'evil.example' })),
  },
  {
    name: 'signed for another site, sent with our Host',
    why: 'the authority is covered',
    reason: 'bad-signature',
    request: received(signing({ authority: 'evil.example' }), { authority: 'shop.example' }),
  },
  {
    name: 'over http',
    why: '@authority does not cover the scheme',
    reason: 'insecure',
    request: received(get, { scheme: 'http' }),
  },
  {
    name: 'over http, to another authority',
    why: 'the authority is checked first',
    reason: 'authority',
    request: received(signing({ authority: 'evil.example' }), { scheme: 'http' }),
  },
  {
    name: 'a fragment in the query',
    why: 'it is never sent',
    reason: 'bad-path',
    request: received(at('/orders', '?a#b')),
  },
  {
    name: 'a space in the query',
    why: 'clients encode it',
    reason: 'bad-path',
    request: received(at('/orders', '?a b')),
  },
  {
    name: 'a trailing dot',
    why: 'another authority',
    reason: 'authority',
    request: received(signing({ authority: 'shop.example.' })),
  },
  {
    name: 'port 443 in what was signed',
    why: 'the default port is no part of @authority',
    reason: 'bad-signature',
    request: received(signing({ authority: 'shop.example:443' }), {
      authority: 'shop.example:443',
    }),
  },
  {
    name: 'two Host fields',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: withHeaders(['Host', 'shop.example'], ['Host', 'shop.example']),
  },
  {
    name: 'Host differs from :authority',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: withHeaders(['Host', 'evil.example']),
  },
  {
    name: 'Host differs from the absolute target',
    why: 'two readers could see different ones',
    reason: 'bad-host',
    request: received(get, { target: 'https://evil.example/orders' }),
  },
  {
    name: 'empty path',
    why: 'clients send /',
    reason: 'bad-path',
    request: received(signing({ path: '/' }), { target: '' }),
  },
  {
    name: 'a path that climbs',
    why: 'not normalized',
    reason: 'bad-path',
    request: received(at('/a/../orders')),
  },
  {
    name: 'an encoded dot segment',
    why: 'not normalized',
    reason: 'bad-path',
    request: received(at('/a/%2e%2E/orders')),
  },
  {
    name: 'a backslash',
    why: 'URL turns it into a slash',
    reason: 'bad-path',
    request: received(at('/a\\b')),
  },
  {
    name: 'a fragment',
    why: 'it is never sent',
    reason: 'bad-path',
    request: received(at('/orders#x')),
  },
  {
    name: 'the asterisk of OPTIONS',
    why: 'no path',
    reason: 'bad-path',
    request: received(signing({ method: 'OPTIONS', path: '*' })),
  },
]
