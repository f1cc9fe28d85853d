import assert from 'node:assert/strict'
import sharp from 'sharp'
import type { Answer } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { RED } from './test-images.ts'
import { AGENTS } from './with-agent.ts'

/** Uploads a picture as the avatar of an agent. @param query such as a crop */
export function putAvatar(
  { service, owner, did }: { service: TestService; owner: SignedInOwner; did: string },
  picture: Uint8Array,
  type = 'image/png',
  query = '',
): Promise<Answer> {
  const { origin } = service.settings.baseUrl
  return ask(service, `${AGENTS}/${did}/avatar${query}`, {
    method: 'PUT',
    headers: { cookie: owner.cookie, origin, 'content-type': type },
    body: new Uint8Array(picture),
  })
}

/** The bytes of an agent's avatar. */
export async function pictureOf(service: TestService, did: string): Promise<Buffer> {
  const response = await fetch(`${service.url}/api/agents/${did}/avatar.webp`)
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

export const redPng = () =>
  sharp({ create: { width: 64, height: 64, channels: 3, background: RED } })
    .png()
    .toBuffer()
