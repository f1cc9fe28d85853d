/** Something failed in this browser. The message is for the person, in a sentence that says what to do. */
export class Failure extends Error {
  override readonly name = 'Failure'
}

/** The person was asked to confirm that it is them, and changed their mind: nothing was done, nothing is wrong. */
export class NotConfirmed extends Error {
  override readonly name = 'NotConfirmed'
}
