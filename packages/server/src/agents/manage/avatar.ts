import { createHash } from 'node:crypto'
import { CodedError, type OwnerAgent } from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { tailOf } from '../../base/site.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { deleteAvatar, upsertAvatar } from '../avatar-table.ts'
import { requireOwn } from '../find-agent.ts'
import { AvatarEncoder, type Crop, type ImageFault, ImageRejected } from './avatar-image.ts'
import { getOwnAgent } from './own-agent.ts'
import { writeProfile } from './update-profile.ts'

type AvatarDeps = Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now'>

const ERRORS: Readonly<Record<ImageFault, ConstructorParameters<typeof CodedError>>> = {
  'unsupported-format': ['UNSUPPORTED_MEDIA_TYPE', 'The file is not a PNG, JPEG or WebP picture.'],
  'too-many-pixels': [
    'PAYLOAD_TOO_LARGE',
    'The picture has more than 40 million pixels. Make it smaller first.',
  ],
  damaged: ['VALIDATION_ERROR', 'The picture is damaged or not complete.'],
  'outside-crop': ['VALIDATION_ERROR', 'The crop square is not within the picture.'],
  'too-slow': ['VALIDATION_ERROR', 'The picture takes too long to read. Try another one.'],
}

/** Sets and removes the avatars of agents. */
export class Avatars {
  readonly #deps: AvatarDeps
  readonly #encoder = new AvatarEncoder()

  constructor(deps: AvatarDeps) {
    this.#deps = deps
  }

  /**
   * Sets an agent's avatar.
   * @param reference the agent's DID or its tail
   * @param bytes a PNG, JPEG or WebP, unchecked; it is re-encoded
   * @param crop a square in pixels after EXIF rotation; null: the largest centered square
   * @returns the agent after the change
   * @throws CodedError VALIDATION_ERROR, NOT_FOUND, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, FORBIDDEN if the owner is suspended
   */
  async set(
    ownerId: number,
    reference: string,
    bytes: Uint8Array,
    crop: Crop | null,
  ): Promise<OwnerAgent> {
    const { db, site, pepper, now } = this.#deps
    const tail = tailOf(site.naming, reference)
    await requireOwn(db.read, ownerId, tail)
    const webp = await this.#encoder.encode(bytes, crop).catch((error) => {
      throw error instanceof ImageRejected ? new CodedError(...ERRORS[error.fault]) : error
    })
    const avatar = createHash('sha256').update(webp).digest('base64url').slice(0, 16)
    await db.write(async (tx) => {
      await assertOwnerNotSuspended(tx.db, ownerId)
      await writeProfile(tx, pepper, await requireOwn(tx.db, ownerId, tail), { avatar }, now())
      await upsertAvatar(tx, tail, webp)
    })
    return afterCommit(() => getOwnAgent(this.#deps, ownerId, tail))
  }

  /**
   * Removes an agent's avatar.
   * @returns the agent after the change
   * @throws CodedError VALIDATION_ERROR, NOT_FOUND
   */
  async remove(ownerId: number, reference: string): Promise<OwnerAgent> {
    const { db, site, pepper, now } = this.#deps
    const tail = tailOf(site.naming, reference)
    await db.write(async (tx) => {
      await writeProfile(
        tx,
        pepper,
        await requireOwn(tx.db, ownerId, tail),
        { avatar: null },
        now(),
      )
      await deleteAvatar(tx, tail)
    })
    return afterCommit(() => getOwnAgent(this.#deps, ownerId, tail))
  }
}
