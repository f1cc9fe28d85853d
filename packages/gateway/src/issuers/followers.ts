import { type FollowedIssuer, IssuerFollower } from './issuer-follower.ts'

/** A follower that several gates of this process share. */
interface Shared {
  readonly followed: FollowedIssuer
  readonly follower: IssuerFollower
  users: number
}

const all = new Set<Shared>()

/**
 * The follower of an issuer: one for all gates of this process that follow it in the same way.
 * @returns it, and a function that gives it back; it stops when nobody uses it
 */
export function acquireFollower(followed: FollowedIssuer) {
  const shared = [...all].find((each) => isSame(each.followed, followed)) ?? start(followed)
  shared.users += 1
  let isHeld = true
  const release = async (): Promise<void> => {
    if (!isHeld) return
    isHeld = false
    shared.users -= 1
    if (shared.users > 0) return
    all.delete(shared)
    await shared.follower.stop()
  }
  return { follower: shared.follower, release }
}

function start(followed: FollowedIssuer): Shared {
  const shared = { followed, follower: new IssuerFollower(followed), users: 0 }
  all.add(shared)
  return shared
}

function isSame(a: FollowedIssuer, b: FollowedIssuer): boolean {
  const keys = ({ jwks }: FollowedIssuer) => JSON.stringify(jwks)
  const isOne = a.issuer === b.issuer && a.base === b.base && keys(a) === keys(b)
  return isOne && a.elapsed === b.elapsed && a.now === b.now
}
