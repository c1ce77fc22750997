# In place of docker.io/library/node:<version>-slim: Debian, the node binary of the npm package "node", npm, and the user that the
# published image has.
FROM localhost/forecourt-debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libatomic1 && rm -r /var/lib/apt/lists
COPY bin/node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --create-home node
CMD ["node"]
