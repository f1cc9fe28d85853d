import { type Check, type Kit, segment } from './check.ts'
import { expectBody, expectEqual, expectError, object, oneOf, Skip } from './expect.ts'
import { lookup, unknownDid } from './lookup-checks.ts'

const IDENTIFY_PATH = '/api/v1/identify'

/**
 * Whether `/openapi.json` has an endpoint that is not in the contract.
 * @param path with any name for each parameter, such as `/api/{agent}`
 */
export function describesPath({ openapi }: Kit, path: string): boolean {
  const paths = (openapi as { paths?: unknown } | null | undefined)?.paths
  const unnamed = (each: string) => each.replaceAll(/\{[^}]*\}/g, '{}')
  return Object.keys(paths ?? {}).some((each) => unnamed(each) === unnamed(path))
}

/** The identification header alone, at a deployment that echoes what it says. */
export const IDENTIFY_CHECKS: readonly Check[] = [
  {
    section: '5',
    title: 'The identification header takes a DID or its tail, and proves no possession',
    async run(kit, examine) {
      if (!describesPath(kit, IDENTIFY_PATH)) {
        throw new Skip(`the deployment does not describe ${IDENTIFY_PATH}`)
      }
      const identify = (value: string) =>
        kit.client.get(IDENTIFY_PATH, { headers: { [kit.naming.idHeader]: value } })
      await examine('an unknown agent', async () =>
        expectError(await identify(unknownDid(kit)), 404, 'NOT_FOUND'),
      )
      await examine('neither a DID nor a tail', async () =>
        expectError(await identify('nobody'), 400, 'VALIDATION_ERROR'),
      )
      for (const { did } of kit.agents) {
        await examine(did, async () => {
          const { verified, certificate } = await lookup(kit, did)
          for (const value of [did, did.slice(-24)]) {
            const answer = await identify(value)
            const body = expectBody(
              answer,
              200,
              object({
                [kit.naming.didField]: oneOf(did),
                verified: oneOf(verified),
                certificate: object({ status: oneOf(certificate.status) }),
                proofOfPossession: oneOf(false),
              }),
            )
            if (!verified) expectEqual(`${answer.request}: suggestedUse`, body.suggestedUse, 'deny')
          }
        })
      }
    },
  },
  {
    section: '5',
    title: 'Endpoints 4.1, 4.5, 4.6 and 4.7 need no credentials',
    async run(kit, examine) {
      if (kit.agents.length === 0)
        throw new Skip('no agent is known: pass --agent <did> or --claim-token <token>')
      for (const { did } of kit.agents) {
        const paths = [
          `/api/v1/agent/*`,
          '/api/v1/agent/*/card',
          '/api/agents/*',
          '/api/agents/*/card',
        ]
        for (const path of paths.map((each) => each.replace('*', segment(did)))) {
          await examine(path, async () => {
            expectBody(await kit.client.get(path), 200, object({}))
          })
        }
      }
    },
  },
]
