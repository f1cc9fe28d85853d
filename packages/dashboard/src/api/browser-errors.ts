/** An error in this browser, with a message for the user that says what to do. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError'
}

/** The user cancelled the re-authentication dialog. Nothing was changed, and no error is shown. */
export class ReauthenticationCancelled extends Error {
  override readonly name = 'ReauthenticationCancelled'
}
