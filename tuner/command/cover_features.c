#include "command/cover_features.h"

#include "cover/size_features.h"

void cover_features_make(struct features *features, const struct cover_session *session)
{
    size_features_add(features, &session->range, &session->sizes);
}
