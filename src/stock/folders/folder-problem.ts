/** The folder cannot be used; the message says what to do. */
export class FolderProblem extends Error {
  override readonly name = 'FolderProblem'
}
