import { encodeBase64, keyFault, namingFor } from '@countersign/protocol'
import { newKey, type Signer } from '@countersign/sdk'
import agentReferences from '../../../../vectors/agent-reference.json' with { type: 'json' }
import base64 from '../../../../vectors/base64.json' with { type: 'json' }
import challenges from '../../../../vectors/challenge.json' with { type: 'json' }
import claimTokens from '../../../../vectors/claim-token.json' with { type: 'json' }
import headers from '../../../../vectors/identification-header.json' with { type: 'json' }
import publicKeys from '../../../../vectors/public-keys.json' with { type: 'json' }
import requests from '../../../../vectors/requests.json' with { type: 'json' }
import signatures from '../../../../vectors/signatures.json' with { type: 'json' }
import signedBytes from '../../../../vectors/signed-bytes.json' with { type: 'json' }
import texts from '../../../../vectors/text.json' with { type: 'json' }
import type { Answer } from './answer.ts'
import { type Check, type Examine, type Kit, segment } from './check.ts'
import { CLAIM_PATH, claimBody, unknownToken } from './claim-checks.ts'
import { describe, expectError, Mismatch, Skip } from './expect.ts'
import { describesPath } from './identify-checks.ts'
import { newChallenge, VERIFY_PATH, verifyBody } from './verify-checks.ts'

/** How many cases are sent at the same time. */
const CONCURRENCY = 4
const PRINTABLE_ASCII = /^[!-~](?:[ -~]*[!-~])?$/

/** A case of a file in vectors/. */
interface Vector {
  readonly name: string
  readonly shortName?: string
}

/** The files that need no deployment: they are for libraries. */
const FOR_LIBRARIES =
  'base58, certificates, did, grade, http-signatures, key-formats, key-operations, named-challenge, naming, sessions, status, transparency-log'

/** The cases of vectors/ that show over HTTP. vectors/README.md says what each file has. */
export const VECTOR_CHECKS: readonly Check[] = [
  {
    section: '4.1',
    title: 'vectors/agent-reference.json: which path parameters name an agent',
    async run(kit, examine) {
      const translate = translator(kit)
      const paths = ['/api/v1/agent/*', '/api/agents/*']
      await each(examine, agentReferences.valid.filter(isOfFile), async ({ segment: given }) => {
        for (const path of paths) {
          expectFound(
            await kit.client.get(path.replace('*', segment(translate(decodeURIComponent(given))))),
          )
        }
      })
      const sent = agentReferences.invalid.filter(
        (one) => isOfFile(one) && one.text !== '' && one.text.isWellFormed(),
      )
      await each(examine, sent, async ({ text }) => {
        for (const path of paths) {
          const answer = await kit.client.get(path.replace('*', segment(translate(text))))
          expectError(answer, 400, 'VALIDATION_ERROR')
        }
      })
    },
  },
  {
    section: '5',
    title: 'vectors/identification-header.json: which values name an agent',
    async run(kit, examine) {
      const path = '/api/v1/identify'
      if (!describesPath(kit, path)) throw new Skip(`the deployment does not describe ${path}`)
      const translate = translator(kit)
      const identify = (value: string) =>
        kit.client.get(path, { headers: { [kit.naming.idHeader]: translate(value) } })
      await each(examine, headers.valid, async ({ value }) => expectFound(await identify(value)))
      // Only what fetch sends unchanged.
      const sent = headers.invalid.filter(({ value }) => PRINTABLE_ASCII.test(value))
      await each(examine, sent, async ({ value }) => {
        expectError(await identify(value), 400, 'VALIDATION_ERROR')
      })
    },
  },
  {
    section: '4.3',
    title: 'vectors/base64.json: spellings of keys and signatures',
    async run(kit, examine) {
      const good = await verifyBody(await newKey(), newChallenge())
      const send = (field: string) => (one: { text: string }) =>
        kit.client.post(VERIFY_PATH, { ...good, [field]: one.text })
      // A spelling is valid even if the key is not: a lookup takes it, and a verification may refuse it.
      await each(examine, base64.key.valid, async ({ text }) => {
        expectFound(await kit.client.get(`/api/v1/agent/${segment(text)}`))
      })
      await each(examine, base64.signature.valid, async (one) => {
        expectRead(await send('signature')(one))
      })
      for (const field of ['publicKey', 'signature'] as const) {
        const cases = field === 'publicKey' ? base64.key.invalid : base64.signature.invalid
        await each(examine, cases, async (one) => {
          expectError(await send(field)(one), 400, 'VALIDATION_ERROR')
        })
      }
    },
  },
  {
    section: '4.3',
    title: 'vectors/challenge.json: which challenges can be signed, and as which bytes',
    async run(kit, examine) {
      const signer = await newKey()
      await each(examine, challenges.valid, async (one) => {
        const body = await verifyBody(signer, textOf(one))
        expectError(await kit.client.post(VERIFY_PATH, body), 404, 'NOT_FOUND')
      })
      await each(examine, challenges.invalid, async (one) => {
        const body = await verifyBody(signer, textOf(one))
        expectError(await kit.client.post(VERIFY_PATH, body), 400, 'VALIDATION_ERROR')
      })
    },
  },
  {
    section: '4.3',
    title: 'vectors/signed-bytes.json: signed challenges',
    async run({ client }, examine) {
      await each(examine, signedBytes.challenges, async (one) => {
        const { publicKey, signature, challenge, challengeTimes = 1 } = one
        const body = { publicKey, signature, challenge: challenge.repeat(challengeTimes) }
        expectFound(await client.post(VERIFY_PATH, body))
      })
    },
  },
  {
    section: '4.3',
    title: 'vectors/signatures.json: signatures are verified strictly',
    async run({ client }, examine) {
      const send = ({ challenge, publicKeyHex, signatureHex }: SignedText) =>
        client.post(VERIFY_PATH, {
          publicKey: base64Of(publicKeyHex),
          challenge,
          signature: base64Of(signatureHex),
        })
      await each(examine, signedTexts(signatures.valid), async (one) =>
        expectFound(await send(one)),
      )
      await each(examine, signedTexts(signatures.invalid), async (one) => {
        const answer = await send(one)
        // Strict verifiers disagree on keys of mixed order. They cannot be certified, so 404 is as good.
        const isMixed = keyFault(Buffer.from(one.publicKeyHex, 'hex')) === 'mixed-order'
        if ([400, 401, ...(isMixed ? [404] : [])].includes(answer.status)) return
        throw new Mismatch(answer.request, '401 INVALID_SIGNATURE, or 400', describe(answer))
      })
    },
  },
  {
    section: '4.4',
    title: 'vectors/public-keys.json: which keys can be certified',
    async run(kit, examine) {
      const send = async ({ hex }: { hex: string }) => {
        const body = await claimBody(await newKey(), unknownToken(kit), 'conformance')
        return kit.client.post(CLAIM_PATH, { ...body, publicKey: base64Of(hex) })
      }
      await each(examine, publicKeys.good, async (one) => expectRead(await send(one)))
      await each(examine, publicKeys.faulty, async (one) => {
        expectError(await send(one), 400, 'VALIDATION_ERROR')
      })
    },
  },
  {
    section: '2.7',
    title: 'vectors/claim-token.json: the format of claim tokens',
    async run(kit, examine) {
      const translate = translator(kit)
      const send = async ({ token }: { token: string }, signer: Signer) => {
        const text = translate(token)
        return kit.client.post(CLAIM_PATH, { ...(await claimBody(signer, text, 'conformance')) })
      }
      const signer = await newKey()
      await each(examine, claimTokens.valid.filter(isOfFile), async (one) => {
        expectRead(await send(one, signer))
      })
      await each(examine, claimTokens.invalid.filter(isOfFile), async (one) => {
        expectError(await send(one, signer), 400, 'VALIDATION_ERROR')
      })
    },
  },
  {
    section: '4.4',
    title: 'vectors/text.json: which labels (agentId) are accepted',
    async run(kit, examine) {
      const signer = await newKey()
      const send = async (one: { text: string; times?: number }) =>
        kit.client.post(CLAIM_PATH, await claimBody(signer, unknownToken(kit), textOf(one)))
      await each(examine, texts.agentId.valid, async (one) => expectRead(await send(one)))
      await each(examine, texts.agentId.invalid, async (one) => {
        expectError(await send(one), 400, 'VALIDATION_ERROR')
      })
    },
  },
  {
    section: '4.3, 4.4',
    title: 'vectors/requests.json: the shape of bodies',
    async run(kit, examine) {
      const translate = translator(kit)
      for (const [path, { body, valid, invalid }] of [
        [CLAIM_PATH, requests.claim],
        [VERIFY_PATH, requests.verify],
      ] as readonly [string, Requests][]) {
        const send = ({ set = {}, remove = [] }: RequestVector) => {
          const changed = Object.entries({ ...body, ...set }).filter(
            ([name]) => !remove.includes(name),
          )
          return kit.client.post(path, translate(JSON.stringify(Object.fromEntries(changed))))
        }
        // The DID in a verification is not in the contract.
        const sent = valid.filter(({ set = {} }) => !Object.hasOwn(set, 'svcDid'))
        await each(examine, sent, async (one) => expectRead(await send(one)))
        await each(examine, invalid, async (one) => {
          expectError(await send(one), 400, 'VALIDATION_ERROR')
        })
      }
    },
  },
  {
    section: '-',
    title: 'Vectors for libraries, which do not show over HTTP',
    run: async () => {
      throw new Skip(FOR_LIBRARIES)
    },
  },
]

/** A case of requests.json. */
interface RequestVector extends Vector {
  readonly set?: Readonly<Record<string, unknown>>
  readonly remove?: readonly string[]
}

interface Requests {
  readonly body: object
  readonly valid: readonly RequestVector[]
  readonly invalid: readonly RequestVector[]
}

/** A signed message that is a challenge. */
interface SignedText extends Vector {
  readonly challenge: string
  readonly publicKeyHex: string
  readonly signatureHex: string
}

/** The cases of signatures.json whose message a challenge can carry. */
function signedTexts(
  cases: readonly (Omit<SignedText, 'challenge'> & { readonly messageHex: string })[],
): SignedText[] {
  return cases.flatMap(({ messageHex, ...others }) => {
    const bytes = Buffer.from(messageHex, 'hex')
    const challenge = bytes.toString('utf8')
    const carried = challenge !== '' && Buffer.from(challenge, 'utf8').equals(bytes)
    return carried ? [{ ...others, challenge }] : []
  })
}

/** Examines cases, a few at a time. */
async function each<T extends Vector>(
  examine: Examine,
  cases: readonly T[],
  examined: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = [...cases]
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const each = one
      await examine(each.name, () => examined(each))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** The agent is known or not, but the request is good. */
function expectFound(answer: Answer): void {
  // The document of a revoked agent may come with 410.
  if (answer.status === 200 || answer.status === 410) return
  expectError(answer, 404, 'NOT_FOUND')
}

/** The body is good; what follows depends on the deployment. */
function expectRead(answer: Answer): void {
  if (answer.status !== 400 && answer.status < 500) return
  throw new Mismatch(answer.request, 'a body that is read', describe(answer))
}

/** Cases with a short name of their own are for another deployment than the file. */
function isOfFile({ shortName }: Vector): boolean {
  return shortName === undefined
}

/** Turns texts of the default deployment into those of this one, and its own into those of the default. */
function translator({ naming }: Kit): (text: string) => string {
  const [from, to] = [namingFor().shortName, naming.shortName]
  if (from === to) return (text) => text
  const names = new RegExp(`\\b(${from}|${to})(?=:agent|-verify-|Did)`, 'gi')
  return (text) =>
    text.replace(names, (name) => {
      const other = name.toLowerCase() === from ? to : from
      return name === name.toLowerCase() ? other : other.toUpperCase()
    })
}

function textOf({ text, times = 1 }: { text: string; times?: number }): string {
  return text.repeat(times)
}

function base64Of(hex: string): string {
  return encodeBase64(Buffer.from(hex, 'hex'))
}
