import { at, body, digested, get, post, withHeaders, withoutBody } from './requests.ts'
import { received, signing } from './signing.ts'

/** Requests of which something was changed. */
export const CHANGED = [
  {
    name: 'another method',
    why: 'the method is covered',
    reason: 'bad-signature',
    request: received(get, { method: 'DELETE' }),
  },
  {
    name: 'a method that needs a digest',
    why: 'POST covers content-digest, also without a body',
    reason: 'components',
    request: received(get, { method: 'POST' }),
  },
  {
    name: 'another path',
    why: 'the path is covered',
    reason: 'bad-signature',
    request: received(get, { target: '/orders/1' }),
  },
  {
    name: '// in front of the path',
    why: 'another path',
    reason: 'bad-signature',
    request: received(get, { target: '//orders' }),
  },
  {
    name: 'a query was added',
    why: 'a query has to be covered',
    reason: 'components',
    request: received(get, { target: '/orders?amount=1' }),
  },
  {
    name: 'a lone ? was added',
    why: 'a query has to be covered',
    reason: 'components',
    request: received(get, { target: '/orders?' }),
  },
  {
    name: 'a lone ? was removed',
    why: '@query has the same value for ? and for no query',
    reason: 'components',
    request: received(at('/orders', '?'), { target: '/orders' }),
  },
  {
    name: 'another query',
    why: 'the query is covered',
    reason: 'bad-signature',
    request: received(at('/orders', '?id=1'), { target: '/orders?id=2' }),
  },
  {
    name: 'a body was added',
    why: 'content has to be covered by its digest',
    reason: 'components',
    request: received(get, { body }),
  },
  {
    name: 'a body that is not visible was added',
    why: 'content has to be covered by its digest',
    reason: 'components',
    request: withoutBody(withHeaders(['Content-Length', '10'])),
  },
  {
    name: 'another body',
    why: 'the digest is covered',
    reason: 'digest',
    request: received(post, { body: '{"item":2}' }),
  },
  {
    name: 'the body was removed',
    why: 'the digest is covered',
    reason: 'digest',
    request: received(post),
  },
  {
    name: 'another digest',
    why: 'the digest is covered',
    reason: 'bad-signature',
    request: received(post, {
      headers: [digested('{"item":2}'), ...post.headers.slice(1)],
      body: '{"item":2}',
    }),
  },
  {
    name: 'a digest by another algorithm alone',
    why: 'SHA-256 is needed',
    reason: 'digest',
    request: received(signing({ method: 'POST', fields: [['Content-Digest', 'sha-512=:AAAA:']] })),
  },
  {
    name: 'another content type',
    why: 'it is covered',
    reason: 'bad-signature',
    request: received(post, {
      headers: [digested(body), ['Content-Type', 'text/plain'], ...post.headers.slice(2)],
      body,
    }),
  },
  {
    name: 'Authorization was added',
    why: 'it has to be covered if it is present',
    reason: 'components',
    request: withHeaders(['Authorization', 'Bearer t']),
  },
  {
    name: 'a certificate was added',
    why: 'it has to be covered if it is present',
    reason: 'components',
    request: withHeaders(['ServiceID-Certificate', 'c']),
  },
  {
    name: 'Authorization twice',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: received(signing({ fields: [['Authorization', 'Bearer t, Bearer u']] }), {
      headers: [
        ['Authorization', 'Bearer t'],
        ['Authorization', 'Bearer u'],
        ...signing({ fields: [['Authorization', 'Bearer t, Bearer u']] }).headers.slice(1),
      ],
    }),
  },
  {
    name: 'a covered field was removed',
    why: 'the base cannot be built',
    reason: 'malformed',
    request: received(signing({ fields: [['Accept', '*/*']] }), {
      headers: signing({ fields: [['Accept', '*/*']] }).headers.slice(1),
    }),
  },
]
