import { createContext } from 'react'

/**
 * Whether dialogs step aside, keeping what was entered in them, because the person is asked to confirm that it is
 * them: two dialogs at a time would fight for the focus.
 */
export const SetAside = createContext(false)
