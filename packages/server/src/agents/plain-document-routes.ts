import {
  cardSchema,
  didDocumentSchema,
  KEY_SET_TYPE,
  resolvableDidDocumentSchema,
} from '@countersign/protocol'
import { CACHE_30_SECONDS, CACHE_ONE_MINUTE, REVALIDATE } from '../http/caching.ts'
import { serializerOf } from '../http/compile-schemas.ts'
import type { Part } from '../http/part.ts'
import {
  acceptIn,
  JSON_UTF8,
  type PlainDeps,
  plainAnswers,
  taggedAnswer,
} from '../http/plain-answers.ts'
import { AGENT_URL, DID_JSON, didJsonUrl } from './agent-routes.ts'
import { AnswerCache, type BuildAnswer } from './answer-cache.ts'
import { cardOf } from './card.ts'
import { CARD_URL } from './card-routes.ts'
import { didDocumentOf, resolvableDidDocumentOf } from './did-document.ts'
import type { ReadDeps } from './find-agent.ts'
import { KEY_SET_URL, keySetOf } from './keys/key-set-routes.ts'

/** As Fastify completes the type. */
const DID_JSON_UTF8 = `${DID_JSON}; charset=utf-8`

/**
 * Answers plain requests for the card, the DID documents and the key set of agents in memory ahead of the router.
 * @param hasCardFormats whether the card depends on `Accept`
 */
export function answerPlainDocuments(
  { read, ...deps }: Omit<PlainDeps, 'naming'> & { readonly read: ReadDeps },
  hasCardFormats: boolean,
): NonNullable<Part['ahead']> {
  const { site } = read
  const plain = { ...deps, naming: site.naming }
  const cache = new AnswerCache(read)
  const writeCard = serializerOf(cardSchema(site.naming))
  const writeDocument = serializerOf(didDocumentSchema())
  const writeResolvable = serializerOf(resolvableDidDocumentSchema())

  const card: BuildAnswer = (view, now) =>
    taggedAnswer(JSON_UTF8, writeCard(cardOf(site, view, now)))
  // The documents of revoked agents are answered with 410.
  const didDocument: BuildAnswer = ({ agent }) =>
    agent.status === 'revoked'
      ? null
      : taggedAnswer(DID_JSON_UTF8, writeDocument(didDocumentOf(site, agent)))
  const didJson: BuildAnswer = ({ agent }) =>
    agent.status === 'revoked'
      ? null
      : taggedAnswer(DID_JSON_UTF8, writeResolvable(resolvableDidDocumentOf(site, agent)))
  // A key set that its agent has signed has more headers.
  const keySet: BuildAnswer = ({ agent }) =>
    agent.profile.directoryProof === null
      ? taggedAnswer(KEY_SET_TYPE, JSON.stringify(keySetOf(agent)))
      : null

  const route = (operationId: string, url: string) => ({ operationId, url, method: 'GET' })
  return [
    {
      route: route('card', CARD_URL),
      open: () =>
        plainAnswers(
          plain,
          { url: CARD_URL, cacheControl: CACHE_30_SECONDS },
          (tail, rawHeaders) =>
            hasCardFormats && acceptIn(rawHeaders) !== null ? null : cache.get(tail, card),
        ),
    },
    {
      route: route('didJson', didJsonUrl(site)),
      open: () =>
        plainAnswers(
          plain,
          { url: didJsonUrl(site), cacheControl: REVALIDATE },
          (tail, _rawHeaders, reference) => (reference === tail ? cache.get(tail, didJson) : null),
        ),
    },
    {
      route: route('agentKeySet', KEY_SET_URL),
      open: () =>
        plainAnswers(plain, { url: KEY_SET_URL, cacheControl: CACHE_ONE_MINUTE }, (tail) =>
          cache.get(tail, keySet),
        ),
    },
    {
      route: route('agent', AGENT_URL),
      open: () =>
        plainAnswers(plain, { url: AGENT_URL, cacheControl: REVALIDATE }, (tail, rawHeaders) =>
          acceptIn(rawHeaders) === DID_JSON ? cache.get(tail, didDocument) : null,
        ),
    },
  ]
}
