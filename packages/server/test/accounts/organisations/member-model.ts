import { includesRole, type Role } from '@countersign/protocol'

/** A step of a sequence: persons are numbers. `by` acts, `of` is whom it concerns. */
export interface Step {
  readonly what:
    | 'invite'
    | 'withdraw'
    | 'accept'
    | 'decline'
    | 'change'
    | 'remove'
    | 'createKey'
    | 'editByKey'
    | 'read'
    | 'edit'
    | 'issueToken'
  readonly by: number
  readonly of: number
  readonly role: Role
}

/** What an organisation should be after a sequence of steps, and what each step should answer: `docs/contract/authentication.md`. */
export class MemberModel {
  readonly roles = new Map<number, Role>([[0, 'admin']])
  /** By the person who is invited. */
  readonly invitations = new Map<number, { readonly role: Role; readonly by: number }>()
  /** Who has an API key. It may have ended. */
  readonly keys = new Map<number, { isEnded: boolean }>()

  /** Takes a step. @returns the status of the answer */
  take({ what, by, of, role }: Step): number {
    switch (what) {
      case 'invite':
        return this.#as(by, 'admin', () => {
          if (this.roles.has(of)) return 409
          this.invitations.set(of, { role, by })
          return 201
        })
      case 'withdraw':
        return this.#as(by, 'admin', () => (this.invitations.delete(of) ? 204 : 404))
      case 'accept':
        return this.#accept(of, role)
      case 'decline':
        return this.invitations.delete(of) ? 204 : 404
      case 'change':
        return this.#as(by, 'admin', () => this.#change(of, role))
      case 'remove':
        return this.#as(by, 'viewer', () => this.#remove(by, of))
      case 'createKey':
        return this.#as(by, 'manager', () => {
          this.keys.set(by, { isEnded: false })
          return 201
        })
      case 'editByKey':
        return this.#editByKey(by)
      case 'read':
        return this.#as(by, 'viewer', () => 200)
      case 'edit':
        return this.#as(by, 'manager', () => 200)
      case 'issueToken':
        return this.#as(by, 'manager', () => 201)
    }
  }

  #as(person: number, least: Role, work: () => number): number {
    const role = this.roles.get(person)
    if (role === undefined) return 404
    return includesRole(role, least) ? work() : 403
  }

  #accept(of: number, role: Role): number {
    const invitation = this.invitations.get(of)
    if (invitation === undefined) return 404
    if (invitation.role !== role) return 409
    this.invitations.delete(of)
    this.roles.set(of, role)
    return 200
  }

  #change(of: number, role: Role): number {
    const former = this.roles.get(of)
    if (former === undefined) return 404
    if (role !== 'admin' && this.#isLastAdmin(of)) return 409
    this.roles.set(of, role)
    if (role !== 'admin') this.#endInvitationsBy(of)
    return 200
  }

  #remove(by: number, of: number): number {
    if (!this.roles.has(of)) return 404
    if (by !== of && this.roles.get(by) !== 'admin') return 403
    if (this.#isLastAdmin(of)) return 409
    this.roles.delete(of)
    this.#endInvitationsBy(of)
    const key = this.keys.get(of)
    if (key !== undefined) key.isEnded = true
    return 200
  }

  #editByKey(by: number): number {
    const key = this.keys.get(by)
    if (key === undefined || key.isEnded) return 401
    return includesRole(this.roles.get(by) as Role, 'manager') ? 200 : 403
  }

  #isLastAdmin(person: number): boolean {
    const admins = [...this.roles].filter(([, role]) => role === 'admin')
    return admins.length === 1 && admins[0]?.[0] === person
  }

  #endInvitationsBy(person: number): void {
    for (const [of, { by }] of this.invitations) if (by === person) this.invitations.delete(of)
  }
}
