// A file of its own: a Node without import() could not read bin.cjs.
void import('./main.ts')
